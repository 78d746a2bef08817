package wasm

// This file follows the control instructions of a body: which blocks are open, and which region
// pays for what comes next.

func (s *scan) openFrame(code byte) {
	params, results := s.blockType()
	outer := s.top().region
	s.frames = append(s.frames, frame{op: code, region: outer, around: outer, params: params, results: results,
		height: s.shape.height - params, sets: s.shape.sets})
	s.blocks++
	s.atMost("nesting of function %d", len(s.frames), s.m.limits.Nesting, " blocks")
	s.atMost("blocks of function %d", s.blocks, s.m.limits.Blocks, "")
	s.cost.units += carryEffort * (params + results)
	switch f := s.top(); code {
	case opLoop:
		s.cost.loops++
		s.cost.units += mergeEffort * s.cost.loops * s.locals
		s.cost.leads(&f.ends, params)
		s.cost.here.length = 0
		s.cost.block(s.alive())
		f.region = s.open(region{around: -1, weight: weightJump + s.m.loopCost})
	case opIf:
		s.branched()
		s.cost.here.length++
		f.otherwise = s.cost.here
		s.cost.block(s.alive())
		s.cost.block(s.alive())
		f.region = s.open(region{around: outer, optional: true})
	}
}

// open begins a region at the place of the cursor, and returns its index.
func (s *scan) open(r region) int {
	s.regions = append(s.regions, r)
	s.edits = append(s.edits, edit{at: int32(s.c.at), kind: editCharge, arg: uint32(len(s.regions) - 1), trap: int32(len(s.frames))})
	return len(s.regions) - 1
}

func (s *scan) elseArm() {
	f := s.top()
	if f.op != opIf {
		s.c.fail("else without its if")
		return
	}
	s.branched()
	s.cost.leads(&f.ends, f.results)
	s.cost.here = f.otherwise
	f.op = opElse
	f.region = s.open(region{around: f.around, optional: true})
	s.shape.height = f.height + f.params
}

// closeFrame ends the innermost frame, and continues the scan behind it. All paths out of the frame
// meet there, except those of a loop, whose branches lead back to its beginning.
func (s *scan) closeFrame() {
	f := *s.top()
	s.frames = s.frames[:len(s.frames)-1]
	s.shape.join(&f)
	if len(s.frames) == 0 {
		return
	}
	set := min(s.locals, s.shape.sets-f.sets)
	if f.op == opIf {
		f.ends.join(f.otherwise)
	}
	switch {
	case f.op == opLoop: // whose branches lead back
		s.cost.loops--
		s.cost.merge(&f.ends, set+f.params)
		s.cost.here.length++
	case f.ends.paths == 0:
		s.cost.here.length++
	default:
		s.cost.leads(&f.ends, f.results)
		s.cost.meet(&f.ends, set)
	}
	s.cost.block(s.alive())
	s.top().region = s.open(region{around: s.top().region, optional: true})
}

// join counts the values at the end of a block: its results are new values, and each local that was
// assigned in the block may have become one.
func (t *stack) join(f *frame) {
	merged := min(t.locals, t.sets-f.sets)
	if f.op == opLoop {
		t.slots += merged
	}
	t.height = f.height
	t.push(f.results)
	t.made += merged
}

// jump counts a branch to the frame that a label names.
func (s *scan) jump(label int) {
	f := &s.frames[len(s.frames)-1-label]
	operands := f.results
	if f.op == opLoop {
		operands = f.params
	}
	s.cost.leads(&f.ends, operands)
}

// branch reads the label of br or br_if.
func (s *scan) branch(code byte) {
	label := s.m.index(&s.c, "label", len(s.frames))
	if s.c.err != nil {
		return
	}
	s.branched()
	s.jump(int(label))
	if code == opBr {
		s.shape.height = s.top().height
		return
	}
	s.cost.here.length++
	s.cost.block(s.alive())
}

// branched counts a branch.
func (s *scan) branched() {
	s.cost.nodes++
	s.branches++
	s.atMost("branches of function %d", s.branches, s.m.limits.Branches, "")
}

func (s *scan) branchTable() {
	n := s.c.count()
	if s.atMost("branch table in function %d", n, s.m.limits.Targets, " labels"); s.c.err != nil {
		return
	}
	s.branched()
	s.cost.labels += n
	s.cost.here.length++ // each label has a block of its own on the way
	for i := 0; i <= n && s.c.err == nil; i++ {
		label := s.m.index(&s.c, "label", len(s.frames))
		if s.c.err != nil {
			return
		}
		s.cost.units += labelEffort + s.alive()
		s.jump(int(label))
	}
	s.cost.here.length--
	s.shape.height = s.top().height
}

// blockType returns how many operands a block takes and leaves.
func (s *scan) blockType() (params, results int) {
	if s.c.more() && s.c.b[s.c.at] == blockEmpty {
		s.c.at++
		return 0, 0
	}
	if s.c.more() && s.c.b[s.c.at]&0xc0 == 0x40 {
		valueType(&s.c)
		return 0, 1
	}
	t := s.c.signed(33)
	if s.c.err == nil && (t < 0 || t >= int64(len(s.m.types))) {
		s.c.fail("block type %d is used, %d types are declared", t, len(s.m.types))
	}
	if s.c.err != nil {
		return 0, 0
	}
	sig := s.m.types[t]
	return len(sig.params), len(sig.results)
}

func (s *scan) call(sig signature) {
	s.calls++
	s.cost.call(len(sig.params)+len(sig.results), s.m.mutable+meterGlobals)
	s.shape.call(len(sig.params), len(sig.results), s.top().height)
}

// merge adds the weight of each region that is too light for a charge of its own to the region
// around it. It begins with the last and innermost, so that a region may become heavy enough by
// what it gets. Then it decides which of the remaining charges are paid late.
func (s *scan) merge() {
	for i := len(s.regions) - 1; i > 0; i-- {
		r := &s.regions[i]
		if r.optional && r.weight < lightest {
			s.regions[r.around].weight += r.weight
			r.weight = 0
		}
	}
	for i := range s.regions[1:] {
		r := &s.regions[1+i]
		if r.weight == 0 {
			continue
		}
		s.charges = true
		s.cost.units += nodeEffort
		if r.late = r.optional && s.owed+r.weight <= mostOwed; r.late {
			s.owed += r.weight
		} else {
			s.cost.nodes++
		}
	}
}
