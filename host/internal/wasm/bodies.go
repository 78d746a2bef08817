package wasm

import (
	"fmt"
	"iter"
)

// scans reads the bodies of m one after the other. The plan of a body is valid until the next body
// is read. An error means that the body is malformed or, if it is an *excess, that it exceeds a
// limit.
func (m *image) scans() iter.Seq2[*scan, error] {
	return func(yield func(*scan, error) bool) {
		s := &scan{m: m}
		m.effort = 0
		for i := range m.bodies {
			s.begin(i)
			if err := s.finish(); !yield(s, err) {
				return
			}
		}
	}
}

// begin prepares the scan for the i-th body.
func (s *scan) begin(i int) {
	m := s.m
	fn := i + m.inherited[externFunction]
	sig, b := m.types[m.functions[fn]], &m.bodies[i]
	*s = scan{m: m, c: cursor{b: b.code}, fn: fn, locals: len(sig.params) + b.count,
		frames: s.frames[:0], regions: s.regions[:0], edits: s.edits[:0]}
	s.shape = stack{locals: s.locals, made: s.locals, wide: b.wide}
	s.cost.units = functionEffort + s.locals + len(m.globals)
	s.regions = append(s.regions, region{around: -1, weight: weightCall})
	s.frames = append(s.frames, frame{op: opBlock, results: len(sig.results)})
}

// finish reads the body to its end and plans it.
func (s *scan) finish() error {
	for len(s.frames) > 0 && s.c.err == nil {
		s.step()
	}
	if s.c.err == nil && s.c.more() {
		s.c.fail("code goes on after its last end")
	}
	if s.c.err == nil {
		s.merge()
		s.addEffort(s.cost.sum(s.locals))
	}
	if s.c.err != nil {
		return fmt.Errorf("function %d: %w", s.fn, s.c.err)
	}
	return nil
}

// addEffort stops the reading if compiling this function, or all functions together, takes more
// than the limits allow.
func (s *scan) addEffort(units int) {
	s.m.effort += units
	s.atMost("effort of compiling function %d", units, s.m.limits.BodyEffort, " units")
	s.c.atMost("effort of compiling", uint64(s.m.effort), s.m.limits.Effort, " units")
}

func (s *scan) step() {
	at := s.c.at
	code := s.c.u8()
	o := &plainOps[code]
	switch code {
	case opMiscPrefix:
		o = &miscOps[min(s.c.u32(), 0xff)] // of which the last is refused
	case opVectorPrefix:
		o = s.vector()
	}
	if s.c.err != nil {
		return
	}
	if o.imm == immUnknown {
		s.c.at = at
		s.c.fail("instruction %#x is not in core V2", s.c.b[at:min(at+2, len(s.c.b))])
		return
	}
	if s.cost.units += int(o.effort); s.cost.units > s.m.limits.BodyEffort {
		s.addEffort(s.cost.units)
		return
	}
	s.regions[s.top().region].weight += int64(o.weight)
	s.shape.move(o, s.top().height)
	s.operands(code, o, at)
}

// vector reads the second half of the opcode of a vector instruction, a LEB128 number. wazero takes
// its first byte as the number. Above 0x7f a second byte follows, 0x01, which wazero takes for a
// no-op. vector accepts no other second byte, so both read the same instructions.
func (s *scan) vector() *opcode {
	n := s.c.u8()
	if n >= 0x80 && s.c.u8() != 0x01 {
		return &refusedOp
	}
	s.shape.wide = true
	return &vectorOps[n]
}

// operands reads what follows the opcode at offset at.
func (s *scan) operands(code byte, o *opcode, at int) {
	c, m := &s.c, s.m
	if o.bulk > 0 {
		s.edits = append(s.edits, edit{at: int32(at), kind: editBulk, arg: uint32(o.bulk - 1), trap: int32(len(s.frames))})
		s.bulk = true
		s.cost.nodes += bulkNodes
	}
	switch o.imm {
	case immBlock:
		s.openFrame(code)
	case immElse:
		s.elseArm()
	case immEnd:
		s.closeFrame()
	case immLabel:
		s.branch(code)
	case immLabels:
		s.branchTable()
	case immReturn:
		s.branched()
		s.jump(len(s.frames) - 1)
		s.edits = append(s.edits, edit{at: int32(at), kind: editReturn, arg: uint32(len(s.frames) - 1), size: 1})
		s.shape.height = s.top().height
	case immUnreachable:
		s.shape.height = s.top().height
	case immCall:
		if f := m.function(c); c.err == nil {
			s.call(m.types[m.functions[f]])
		}
	case immCallIndirect:
		t := m.typeIndex(c)
		m.index(c, "table", len(m.tables))
		if c.err == nil {
			s.call(m.types[t])
			s.shape.relayed = max(s.shape.relayed, len(m.types[t].params)+len(m.types[t].results)+1) // a dispatcher does not pay for its own stack
			s.edits = append(s.edits, edit{at: int32(at), kind: editIndirect, arg: t, size: uint8(c.at - at)})
		}
	case immLocal:
		m.index(c, "local", s.locals)
		if code == opLocalGet {
			s.cost.reads++
			s.cost.read(1)
		} else {
			s.shape.sets++
		}
	case immFunction:
		if f := m.refer(c); c.err == nil {
			s.edits = append(s.edits, edit{at: int32(at), kind: editReference, arg: f, size: uint8(c.at - at)})
			s.reference = true
		}
	default:
		s.literal(o.imm)
	}
}

// literal reads operands that change nothing in the state of the scan.
func (s *scan) literal(imm immediate) {
	c, m := &s.c, s.m
	switch imm {
	case immSelectTypes:
		if c.u32() != 1 {
			c.fail("select has other than one type")
		}
		valueType(c)
	case immGlobal:
		m.index(c, "global", len(m.globals))
		s.cost.read(1)
	case immTable:
		s.tables = true
		m.index(c, "table", len(m.tables))
	case immTableTable:
		s.tables = true
		m.index(c, "table", len(m.tables))
		m.index(c, "table", len(m.tables))
	case immData, immDataMem:
		m.index(c, "data segment", int(m.counted))
	case immElem, immElemTable:
		s.tables = true
		m.index(c, "element segment", m.elements)
		if imm == immElemTable {
			m.index(c, "table", len(m.tables))
		}
	case immMemArg, immMemLane:
		m.memarg(c)
		s.cost.read(2)
		s.cost.here.addresses++
	case immS32:
		c.signed(32)
	case immS64:
		c.signed(64)
	case immF32:
		c.take(4)
	case immF64:
		c.take(8)
	case imm16Bytes:
		c.take(16)
	case immHeapType:
		referenceType(c)
	case immZeroZero:
		m.memoryZero(c)
	}
	switch imm {
	case immZero, immZeroZero, immDataMem:
		m.memoryZero(c)
	case immLane, immMemLane:
		c.u8()
	}
}

// memarg reads an alignment and an offset. It refuses an alignment of 32 or more, by which
// later proposals mark further operands.
func (m *image) memarg(c *cursor) {
	if c.u32() >= 32 {
		c.fail("memory operands of this kind are not in core V2")
	}
	c.u32()
	if len(m.memories) == 0 {
		c.fail("memory is used, none is declared")
	}
}

func (m *image) memoryZero(c *cursor) {
	if c.u8() != 0 || len(m.memories) == 0 {
		c.fail("memory 0 is the only one, and it must be declared")
	}
}
