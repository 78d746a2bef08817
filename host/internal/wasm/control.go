package wasm

import "fmt"

// This file follows the control instructions of a body: which block is open,
// which region pays for what comes next.

func (s *scan) enter(code byte) {
	params, results := s.blockType()
	outer := s.top().region
	s.frames = append(s.frames, frame{op: code, region: outer, around: outer, params: params, results: results,
		height: s.shape.height - params, sets: s.shape.sets})
	switch code {
	case opLoop:
		s.top().region = s.open(region{around: -1, weight: jump + s.m.checked})
	case opIf:
		s.top().region = s.open(region{around: outer, optional: true})
	}
	s.blocks++
	s.m.effort += len(s.frames) + s.locals
	if code == opLoop {
		s.m.effort += loopEffort * s.locals
	}
	if len(s.frames) > s.m.limits.Nesting && !s.deep {
		s.deep = true
		s.m.findings.add(fmt.Sprintf("nesting of function %d", s.fn), fmt.Sprintf("at most %d blocks", s.m.limits.Nesting), "more")
	}
}

// open begins a region where the cursor stands.
func (s *scan) open(r region) int {
	s.regions = append(s.regions, r)
	s.edits = append(s.edits, edit{at: s.c.at, kind: editCharge, arg: len(s.regions) - 1, trap: len(s.frames)})
	return len(s.regions) - 1
}

func (s *scan) alternate() {
	f := s.top()
	if f.op != opIf {
		s.c.fail("else without its if")
		return
	}
	f.op = opElse
	f.region = s.open(region{around: f.around, optional: true})
	s.shape.height = f.height + f.params
}

func (s *scan) leave() {
	f := *s.top()
	s.frames = s.frames[:len(s.frames)-1]
	s.shape.join(&f)
	if len(s.frames) == 0 {
		return
	}
	parent := s.top().region
	s.top().region = s.open(region{around: parent, optional: true})
}

func (s *scan) branches() {
	n := s.c.count()
	if n > s.m.limits.Targets {
		s.m.findings.add(fmt.Sprintf("branch table in function %d", s.fn), fmt.Sprintf("at most %d labels", s.m.limits.Targets), fmt.Sprint(n))
	}
	s.m.effort += targetEffort * n
	for i := 0; i <= n && s.c.err == nil; i++ {
		s.m.index(&s.c, "label", len(s.frames))
	}
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
	s.shape.call(len(sig.params), len(sig.results), s.top().height)
}

// merge hands the weight of regions that are not worth a check to the region
// around them, innermost and last first, so that what is handed on may itself
// become worth one.
func (s *scan) merge() {
	for i := len(s.regions) - 1; i > 0; i-- {
		r := &s.regions[i]
		if r.optional && r.weight < lightest {
			s.regions[r.around].weight += r.weight
			r.weight = 0
		}
		s.charges = s.charges || r.weight > 0
	}
}

// stack estimates, from above, the native stack one call of a function takes.
// wazero gives each value that outlives a call, or finds no register, a slot
// of its own. A value that outlives a call was on the operand stack or in a
// local at that call, and was made since the call before, or has its slot.
type stack struct {
	locals  int
	height  int // operands now
	made    int // values made since the last call
	slots   int
	sets    int // assignments to locals so far
	passing int // most values passed to or from one callee
	relayed int // most values passed through a switchboard, plus 1; 0 without
	wide    bool
}

// registers is how many operands are taken to fit into registers.
const registers = 6

func (t *stack) move(o *opcode, floor int) {
	t.height = max(t.height-int(o.pop), floor)
	t.push(int(o.push))
}

func (t *stack) push(n int) {
	t.height += n
	t.made += n
	if n > 0 && t.height > registers {
		t.slots += n
	}
}

func (t *stack) call(params, results, floor int) {
	t.height = max(t.height-params, floor)
	t.slots += min(t.made, t.height+t.locals)
	t.made = 0
	t.passing = max(t.passing, params+results)
	t.push(results)
}

// join ends a block: its results, and each local assigned in it, may become a
// new value.
func (t *stack) join(f *frame) {
	merged := min(t.locals, t.sets-f.sets)
	if f.op == opLoop {
		t.slots += merged
	}
	t.height = f.height
	t.push(f.results)
	t.made += merged
}

// bytes is the estimate.
func (t *stack) bytes() int64 {
	slot := int64(8)
	if t.wide {
		slot = 16
	}
	all := 80 + slot*int64(t.slots+t.passing)
	if t.relayed > 0 {
		all += 80 + slot*2*int64(t.relayed)
	}
	return all
}

// relay counts the frame of a switchboard, which pays for nothing itself.
func (t *stack) relay(values int) { t.relayed = max(t.relayed, values+1) }
