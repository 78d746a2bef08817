package wasm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The price of a block that begins with 5 locals alive, and that of an instruction.
const (
	blockOf5 = nodeEffort + 5*aliveEffort
	plain1   = 6
	spin     = 50 // extra price of an iteration
)

// bodied is an image of a function from i32 to i32 with four locals more, and of one
// from three values to two, which is in the table.
func bodied(code ...any) *image {
	m := &image{
		limits:    defaultLimits,
		types:     []signature{{}, {i32, i32}, {i32 + i32 + i32, i32 + i32}, {"", i32 + i32}},
		functions: []uint32{1, 2},
		globals:   []globalType{{typeI64, true}, {typeI32, false}},
		mutable:   1,
		memories:  []bounds{{min: 1}},
		tables:    []bounds{{min: 1}},
		mentioned: []mention{0, namedOutside},
		loopCost:  spin,
	}
	m.bodies = []body{{count: 4, code: append(seq(code...), opEnd)}}
	return m
}

// TestPlansOfBodies follows single constructs: what compiling them takes, what each region
// pays, how much stack is estimated and what is changed where.
func TestPlansOfBodies(t *testing.T) {
	const base = functionEffort + 5 + 2 // for locals and globals
	const load, fill = 60, 350
	values := func(n int) []byte { return repeat(n, get(0)) }
	drops := func(n int) []byte { return repeat(n, opDrop) }
	charge := func(at, region, trap int) edit {
		return edit{at: int32(at), kind: editCharge, arg: uint32(region), trap: int32(trap)}
	}
	for _, test := range []struct {
		name    string
		code    []byte
		cost    effort
		weights []int64 // of the regions
		shape   stack
		edits   []edit
	}{
		{
			"a value", values(1),
			effort{units: base + 2*plain1, reads: 1},
			[]int64{weightCall + 1}, stack{made: 5 + 1 + 1}, nil,
		},
		{
			"a block that is left", seq(opBlock, blockEmpty, get(0), opBrIf, 0, opEnd, get(0)),
			effort{units: base + 6*plain1 + 2*blockOf5, nodes: 1 + 1 + 1, reads: 2, walks: 1 + 2},
			[]int64{weightCall + 1 + weightJump + 1, 0}, stack{made: 5 + 2 + 1}, []edit{charge(7, 1, 1)},
		},
		{
			"a local that is set in a block", seq(get(0), set(1), opBlock, blockEmpty, get(0), set(2), get(0), opBrIf, 0, opEnd, get(0)),
			effort{units: base + 10*plain1 + 2*blockOf5 + 2*carryEffort, nodes: 3, reads: 4, walks: 3},
			[]int64{weightCall + 5 + weightJump + 1, 0}, stack{made: 5 + 4 + 1 + 1 + 2, sets: 2}, []edit{charge(15, 1, 1)},
		},
		{
			"a loop", seq(opLoop, blockEmpty, get(0), set(1), get(0), opBrIf, 0, opEnd, get(1)),
			effort{units: base + 8*plain1 + mergeEffort*5 + 3*blockOf5 + 2*carryEffort + nodeEffort,
				nodes: 5, reads: 3, walks: 2, here: path{length: 2}},
			[]int64{weightCall + 1, weightJump + spin + 3 + weightJump, 0}, stack{made: 5 + 3 + 1 + 1 + 1, sets: 1, slots: 1},
			[]edit{charge(2, 1, 2), charge(11, 2, 1)},
		},
		{
			"loops in loops", seq(opLoop, blockEmpty, opLoop, blockEmpty, opEnd, opEnd, opLoop, blockEmpty, opEnd, get(0)),
			effort{units: base + 8*plain1 + (1+2+1)*mergeEffort*5 + 6*blockOf5 + 3*nodeEffort,
				nodes: 6 + 3, reads: 1, walks: 1 + 1 + 3, here: path{length: 1}},
			[]int64{weightCall + 1, weightJump + spin, weightJump + spin, 0, 0, weightJump + spin, 0}, stack{made: 5 + 1 + 1},
			[]edit{charge(2, 1, 2), charge(4, 2, 3), charge(5, 3, 2), charge(6, 4, 1), charge(8, 5, 2), charge(9, 6, 1)},
		},
		{
			"a loop that takes and leaves values", seq(values(3), opLoop, 2, opBr, 0, opEnd, opDrop),
			effort{units: base + 8*plain1 + 5*carryEffort + mergeEffort*5 + 3*carryEffort + (blockOf5 + 3*aliveEffort) +
				3*carryEffort + 2*3*carryEffort + (blockOf5 + 2*aliveEffort) + nodeEffort,
				nodes: 1 + 1 + 1 + 1, reads: 3, walks: 2, here: path{length: 1}},
			[]int64{weightCall + 3, weightJump + spin + 1, 0}, stack{made: 5 + 3 + 2 + 1}, []edit{charge(8, 1, 2), charge(11, 2, 1)},
		},
		{
			"two arms", seq(get(0), opIf, typeI32, get(1), opElse, get(1), opEnd),
			effort{units: base + 7*plain1 + carryEffort + 2*blockOf5 + 2*carryEffort + (blockOf5 + aliveEffort),
				nodes: 1 + 2 + 1 + 1, reads: 3, walks: 2 + 2},
			[]int64{weightCall + 1 + weightJump + 1 + 1, 0, 0, 0}, stack{made: 5 + 3 + 1 + 1},
			[]edit{charge(4, 1, 2), charge(7, 2, 2), charge(10, 3, 1)},
		},
		{
			"one arm", seq(get(0), opIf, blockEmpty, opEnd, get(0)),
			effort{units: base + 5*plain1 + 3*blockOf5, nodes: 1 + 2 + 1, reads: 2, walks: 2 + 2},
			[]int64{weightCall + 1 + weightJump + 1, 0, 0}, stack{made: 5 + 2 + 1},
			[]edit{charge(4, 1, 2), charge(5, 2, 1)},
		},
		{
			"two arms that take a value", seq(get(0), get(0), opIf, 1, opElse, opEnd),
			effort{units: base + 6*plain1 + 2*carryEffort + 2*(blockOf5+aliveEffort) + 2*carryEffort + (blockOf5 + aliveEffort),
				nodes: 5, reads: 2, walks: 2 + 2},
			[]int64{weightCall + 2 + weightJump, 0, 0, 0}, stack{made: 5 + 2 + 1 + 1},
			[]edit{charge(6, 1, 2), charge(7, 2, 2), charge(8, 3, 1)},
		},
		{
			"an arm that begins with a value", seq(get(0), get(0), opIf, 1, opElse, opBlock, blockEmpty, opEnd, opEnd),
			effort{units: base + 8*plain1 + 2*carryEffort + 2*carryEffort + 4*(blockOf5+aliveEffort),
				nodes: 6, reads: 2, walks: (1 + 1) + (2 + 1)},
			[]int64{weightCall + 2 + weightJump, 0, 0, 0, 0}, stack{made: 5 + 2 + 1 + 1},
			[]edit{charge(6, 1, 2), charge(7, 2, 2), charge(10, 3, 2), charge(11, 4, 1)},
		},
		{
			"a block that takes a value", seq(get(0), get(0), opBlock, 1, opEnd, opDrop),
			effort{units: base + 6*plain1 + 2*carryEffort + (blockOf5 + 2*aliveEffort), nodes: 1, reads: 2, here: path{length: 1}},
			[]int64{weightCall + 2, 0}, stack{made: 5 + 2 + 1 + 1}, []edit{charge(7, 1, 1)},
		},
		{
			"a branch table", seq(opBlock, blockEmpty, opBlock, blockEmpty, get(0), opBrTable, 2, 0, 1, 1, opEnd, opEnd, get(0)),
			effort{units: base + 8*plain1 + 3*(labelEffort+5) + 2*blockOf5, nodes: 1 + 2, labels: 2, reads: 2, walks: (2 + 1) + (2 + 2 + 1)},
			[]int64{weightCall + 1 + weightTouch + 1, 0, 0}, stack{made: 5 + 2 + 1}, []edit{charge(12, 1, 2), charge(13, 2, 1)},
		},
		{
			"a return", seq(opBlock, blockEmpty, opBlock, blockEmpty, get(0), opReturn, opEnd, opEnd, get(0)),
			effort{units: base + 8*plain1 + carryEffort + 2*blockOf5, nodes: 1 + 2, reads: 2, here: path{length: 2}},
			[]int64{weightCall + 1 + 1 + 1, 0, 0}, stack{made: 5 + 2 + 1},
			[]edit{{at: 6, kind: editReturn, arg: 2, size: 1}, charge(8, 1, 2), charge(9, 2, 1)},
		},
		{
			"a call", seq(values(5), opCall, 1, drops(3)),
			effort{units: base + 10*plain1 + callEffort + 5*valueEffort + 4*reloadEffort, reads: 5},
			[]int64{weightCall + 5 + weightCall}, stack{made: 2 + 1, slots: 2 + 5, passing: 5}, nil,
		},
		{
			"calls that follow each other", seq(values(3), opCall, 1, values(1), opCall, 1, drops(1)),
			effort{units: base + 8*plain1 + 2*(callEffort+5*valueEffort+4*reloadEffort), reads: 4},
			[]int64{weightCall + 4 + 2*weightCall}, stack{made: 2 + 1, slots: 5 + 3, passing: 5}, nil,
		},
		{
			"an indirect call", seq(values(2), opCallIndirect, 1, 0),
			effort{units: base + 4*plain1 + callEffort + 2*valueEffort + 4*reloadEffort, reads: 2},
			[]int64{weightCall + 2 + 2*weightCall}, stack{made: 1 + 1, slots: 5, passing: 2, relayed: 3},
			[]edit{{at: 4, kind: editIndirect, arg: 1, size: 3}},
		},
		{
			"more values than registers", seq(values(registers+2), drops(registers+1)),
			effort{units: base + (2*registers+4)*plain1, reads: registers + 2},
			[]int64{weightCall + registers + 2}, stack{made: 5 + registers + 2 + 1, slots: 2}, nil,
		},
		{
			"a fill", seq(i32c(0), i32c(0), i32c(0), opMiscPrefix, 0x0b, 0, get(0)),
			effort{units: base + 5*plain1 + fill, nodes: bulkNodes, reads: 1},
			[]int64{weightCall + 3 + weightHost + 1}, stack{made: 5 + 4 + 1}, []edit{{at: 6, kind: editBulk, arg: 2, trap: 1}},
		},
		{
			"a reference", seq(opBlock, blockEmpty, opRefFunc, 1, opDrop, opEnd, get(0)),
			effort{units: base + 6*plain1 + blockOf5, nodes: 1, reads: 1, here: path{length: 1}},
			[]int64{weightCall + 1 + 1, 0}, stack{made: 5 + 2 + 1},
			[]edit{{at: 2, kind: editReference, arg: 1, size: 2}, charge(6, 1, 1)},
		},
		{
			"loads behind branches", seq(repeat(6, get(0), opBrIf, 0), get(0), opI32Load, 2, 0, opGlobalGet, 1, opDrop, opI32Load, 2, 0),
			effort{units: base + 12*plain1 + 6*carryEffort + 6*blockOf5 + plain1 + load + 2*6/stepsPerUnit + 2*plain1 + load + 2*6/stepsPerUnit + plain1,
				nodes: 12, reads: 7, here: path{length: 6, addresses: 2}},
			[]int64{weightCall + 6*(1+weightJump) + 1 + 2*weightLoad + 1}, stack{made: 5 + 6 + 1 + 1 + 1 + 1 + 1}, nil,
		},
		{
			"a region that is heavy enough", seq(get(0), opIf, blockEmpty, opBlock, blockEmpty, opEnd, values(lightest), drops(lightest), opEnd, get(0)),
			effort{units: base + (6+2*lightest+1)*plain1 + 2*blockOf5 + blockOf5 + blockOf5 + nodeEffort, nodes: 1 + 2 + 1 + 1,
				reads: lightest + 2, walks: 3 + 2},
			[]int64{weightCall + 1 + weightJump + 1, 0, lightest, 0},
			stack{made: 5 + 1 + lightest + 1 + 1, slots: lightest - registers},
			[]edit{charge(4, 1, 2), charge(7, 2, 2), charge(8+3*lightest, 3, 1)},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := scanned(t, bodied(test.code), 0)
			test.shape.locals, test.shape.height = 5, 1
			var weights []int64
			for _, r := range s.regions {
				weights = append(weights, r.weight)
			}
			if s.cost != test.cost {
				t.Errorf("takes   %+v\nwant    %+v", s.cost, test.cost)
			}
			if !slices.Equal(weights, test.weights) {
				t.Errorf("the regions pay %d, want %d", weights, test.weights)
			}
			if s.shape != test.shape {
				t.Errorf("the stack is %+v\nwant         %+v", s.shape, test.shape)
			}
			if !slices.Equal(s.edits, test.edits) {
				t.Errorf("the edits are %+v\nwant          %+v", s.edits, test.edits)
			}
		})
	}
}

// A region that is too light is charged with the one around it, which is looked at after
// it. The base is not optional, and has its charge at the entry.
func TestLightRegionsAreMerged(t *testing.T) {
	s := scan{regions: []region{
		{weight: 8, around: -1}, {weight: lightest, optional: true}, {weight: lightest - 1, optional: true},
		{weight: 5, around: 2, optional: true}, {around: 1, optional: true}, {weight: 2, around: -1}, {weight: lightest - 1, optional: true},
	}}
	s.merge()
	var weights []int64
	for _, r := range s.regions {
		weights = append(weights, r.weight)
	}
	if want := []int64{8 + lightest - 1, lightest, lightest - 1 + 5, 0, 0, 2, 0}; !slices.Equal(weights, want) {
		t.Errorf("the regions pay %d, want %d", weights, want)
	}
	if s.cost.nodes != 1 || s.cost.units != 3*nodeEffort || !s.charges {
		t.Errorf("three charges, of which two are late, are %d blocks and %d units, %v", s.cost.nodes, s.cost.units, s.charges)
	}
	s = scan{regions: []region{{weight: 8, around: -1}, {weight: 1, optional: true}}}
	if s.merge(); s.charges || s.cost != (effort{}) || s.regions[0].weight != 9 {
		t.Errorf("a function that pays at its entry: %+v", s)
	}
}

// Only what a function may leave out is paid late, and not more than mostOwed of it.
func TestRegionsThatPayLate(t *testing.T) {
	s := scan{regions: []region{
		{weight: 8, around: -1}, {weight: mostOwed + 1, optional: true}, {weight: lightest, around: -1}, {weight: mostOwed - lightest, optional: true},
		{weight: lightest + 1, optional: true}, {weight: lightest, optional: true}, {weight: lightest, optional: true},
	}}
	s.merge()
	var late []bool
	for _, r := range s.regions {
		late = append(late, r.late)
	}
	if want := []bool{false, false, false, true, false, true, false}; !slices.Equal(late, want) || s.owed != mostOwed || s.cost.nodes != 4 {
		t.Errorf("late are %v, want %v; they owe %d, and %d look", late, want, s.owed, s.cost.nodes)
	}
}

// TestLimitsOfBodies has of each thing as much as its limit, and one more.
func TestLimitsOfBodies(t *testing.T) {
	const units = functionEffort + 5 + 2 + 2*plain1
	for _, test := range []struct {
		name  string
		limit func(*Limits) *int
		found int
		code  []byte
		want  string
	}{
		{"nesting", func(l *Limits) *int { return &l.Nesting }, 3, seq(opBlock, blockEmpty, opBlock, blockEmpty, opEnd, opEnd, get(0)), "nesting of function 0"},
		{"blocks", func(l *Limits) *int { return &l.Blocks }, 2, seq(opBlock, blockEmpty, opEnd, opLoop, blockEmpty, opEnd, get(0)), "blocks of function 0"},
		{"branches", func(l *Limits) *int { return &l.Branches }, 4, seq(get(0), opIf, blockEmpty, opElse, opEnd, get(0), get(0), opBrIf, 0, opReturn), "branches of function 0"},
		{"labels", func(l *Limits) *int { return &l.Targets }, 3, seq(get(0), get(0), opBrTable, 3, 0, 0, 0, 0), "branch table in function 0"},
		{"effort of a body", func(l *Limits) *int { return &l.BodyEffort }, units, get(0), "effort of compiling function 0"},
		{"effort of a body with a branch", func(l *Limits) *int { return &l.BodyEffort },
			units + 2*plain1 + carryEffort + blockOf5 + aliveEffort, seq(get(0), get(0), opBrIf, 0), "effort of compiling function 0"},
		{"effort in all", func(l *Limits) *int { return &l.Effort }, units, get(0), "effort of compiling"},
	} {
		for less := range 2 {
			m := bodied(test.code)
			*test.limit(&m.limits) = test.found - less
			s := &scan{m: m}
			s.begin(0)
			err := s.finish()
			var over *excess
			if less == 0 && err != nil {
				t.Errorf("%s, at the limit: %v", test.name, err)
			}
			if less == 1 && (!errors.As(err, &over) || over.Item != test.want || over.Found != fmt.Sprint(test.found) ||
				!strings.HasPrefix(over.Want, fmt.Sprintf("at most %d", test.found-1))) {
				t.Errorf("%s, past the limit: %v", test.name, err)
			}
		}
	}
}

// What functions take is added up.
func TestEffortOfAllBodies(t *testing.T) {
	m := bodied(get(0))
	m.functions = []uint32{1, 1, 1}
	m.bodies = append(m.bodies, m.bodies[0], m.bodies[0])
	if m.scanAll(); m.effort != 3*(functionEffort+5+2+2*plain1) || len(m.findings.list) > 0 {
		t.Errorf("three functions take %d, %v", m.effort, m.findings.list)
	}
	m.limits.Effort = m.effort - 1
	if m.scanAll(); len(m.findings.list) != 1 || m.findings.list[0].Item != "effort of compiling" {
		t.Errorf("says %v", m.findings.list)
	}
}

func TestTypesOfBlocks(t *testing.T) {
	for _, test := range []struct {
		b               []byte
		params, results int
		want            string // in the error
	}{
		{[]byte{blockEmpty}, 0, 0, ""}, {[]byte{typeI32}, 0, 1, ""}, {[]byte{typeExtern}, 0, 1, ""}, {[]byte{0}, 0, 0, ""},
		{[]byte{2}, 3, 2, ""}, {[]byte{3}, 0, 2, ""}, {[]byte{4}, 0, 0, "block type 4 is used, 4 types are declared"},
		{[]byte{5}, 0, 0, "block type 5"}, {[]byte{0x80, 0x7f}, 0, 0, "block type -128"}, {[]byte{0xff, 0x7f}, 0, 0, "block type -1 "},
		{nil, 0, 0, "ends too early"}, {[]byte{0x60}, 0, 1, "value type"},
	} {
		s := &scan{m: bodied(), c: cursor{b: append([]byte{opBlock}, test.b...), at: 1}}
		params, results := s.blockType()
		if params != test.params || results != test.results {
			t.Errorf("%x takes %d and leaves %d", test.b, params, results)
		}
		if test.want == "" && (s.c.err != nil || s.c.more()) || test.want != "" && (s.c.err == nil || !strings.Contains(s.c.err.Error(), test.want)) {
			t.Errorf("%x: %v", test.b, s.c.err)
		}
	}
}

// TestMalformedBodies: what is no instruction of core V2 is refused where it stands.
func TestMalformedBodies(t *testing.T) {
	for _, test := range []struct {
		code []byte
		want string
	}{
		{seq(opNop, 0x06, 0x40), "at byte 1: instruction 0x0640 is not"},
		{seq(opMiscPrefix, 0x12), "at byte 0: instruction 0xfc12 is not"},
		{seq(opMiscPrefix, 0x8b, 0x02, 0), "at byte 0: instruction 0xfc8b is not"}, // 0x10b
		{seq(opVectorPrefix, 0x80, 0x02), "at byte 0: instruction 0xfd80 is not"},
		{seq(opVectorPrefix, 0x9a, 0x01), "at byte 0: instruction 0xfd9a is not"},
		{seq(opNop, opEnd, opNop), "code goes on after its last end"},
		{seq(opElse), "else without its if"},
		{seq(opBlock, blockEmpty, opElse), "else without its if"},
		{seq(get(0), opIf, blockEmpty, opElse, opElse), "else without its if"},
		{seq(get(5)), "local 5 is used, 5 are declared"},
		{seq(opBr, 1), "label 1 is used, 1 are declared"},
		{seq(get(0), opBrTable, 2, 0), "label 11 is used, 1 are declared"},
		{seq(get(0), opBrTable, 2, 0, 1, 1), "label 1 is used, 1 are declared"},
		{seq(opSelectTyped, 2, typeI32, typeI32), "select has other than one type"},
		{seq(opMemorySize, 1), "memory 0 is the only one"},
		{seq(opI32Load, 32, 0), "memory operands of this kind"},
	} {
		s := &scan{m: bodied(test.code)}
		s.begin(0)
		if err := s.finish(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%x: %v, want %q", test.code, err, test.want)
		}
	}
	m := bodied(opMemorySize, 0)
	m.memories = nil
	s := &scan{m: m}
	if s.begin(0); s.finish() == nil {
		t.Error("memory is used, and none is declared")
	}
	s = &scan{m: bodied(get(0), opI32Load, 31, 0)}
	if s.begin(0); s.finish() != nil {
		t.Errorf("the largest alignment: %v", s.c.err)
	}
}

// A vector instruction above 0x7f has one byte more, and those below have none.
func TestVectorNumbers(t *testing.T) {
	for _, test := range []struct {
		b    []byte
		want *opcode
		at   int
	}{
		{[]byte{0x7f, 0x01}, &vectorOps[0x7f], 1}, {[]byte{0x80, 0x01}, &vectorOps[0x80], 2},
		{[]byte{0xff, 0x01}, &vectorOps[0xff], 2}, {[]byte{0x80, 0x00}, &refusedOp, 2},
	} {
		s := &scan{c: cursor{b: test.b}}
		if got := s.vector(); got != test.want || s.c.at != test.at {
			t.Errorf("%x is %+v, up to byte %d", test.b, got, s.c.at)
		}
	}
}

// What moves the stack, step by step.
func TestStackMoves(t *testing.T) {
	s := stack{locals: 4, height: 5}
	s.move(&opcode{pop: 2, push: 1}, 1)
	if s != (stack{locals: 4, height: 4, made: 1}) {
		t.Errorf("two values become one: %+v", s)
	}
	s.move(&opcode{pop: 4}, 1)
	if s != (stack{locals: 4, height: 1, made: 1}) {
		t.Errorf("no value below the floor is taken: %+v", s)
	}
	s = stack{height: registers - 1}
	if s.push(1); s.slots != 0 {
		t.Errorf("the last register is a slot: %+v", s)
	}
	if s.push(2); s.slots != 2 || s.height != registers+2 || s.made != 3 {
		t.Errorf("past the registers: %+v", s)
	}
	s = stack{locals: 4, height: 3, made: 6, passing: 1}
	s.call(5, 2, 1) // the values below the floor are not its own
	if s != (stack{locals: 4, height: 3, made: 2, slots: 5, passing: 7}) {
		t.Errorf("a call: %+v", s)
	}
	for op, slots := range map[byte]int{opBlock: 0, opLoop: 3} {
		s = stack{locals: 4, height: 6, sets: 5}
		s.join(&frame{op: op, sets: 2, height: 1, results: 2})
		if s != (stack{locals: 4, height: 3, made: 5, sets: 5, slots: slots}) {
			t.Errorf("the end of a block of kind %#x: %+v", op, s)
		}
	}
	s = stack{locals: 1, sets: 5}
	if s.join(&frame{op: opLoop}); s.slots != 1 {
		t.Errorf("more locals than there are: %+v", s)
	}
}

// What reading, branching and calling add to the estimate.
func TestStepsOfEffort(t *testing.T) {
	e := effort{here: path{length: 25, addresses: 130}}
	if e.read(1); e.units != 25/stepsPerUnit {
		t.Errorf("a read is %d", e.units)
	}
	if e.read(2); e.units != 25/stepsPerUnit+50/stepsPerUnit {
		t.Errorf("and two are %d", e.units)
	}
	e.units = 1
	var m meeting
	if e.leads(&m, 3); e.units != 1+3*carryEffort+130/listedPerUnit || m != (meeting{paths: 1, walks: 26, addresses: 130}) {
		t.Errorf("a path: %+v to %+v", e, m)
	}
	m.join(path{addresses: 130})
	if m != (meeting{paths: 2, walks: 27, addresses: 130}) {
		t.Errorf("another: %+v", m)
	}
	e.units = 1
	if e.call(5, 7); e.units != 1+callEffort+5*valueEffort+7*reloadEffort+130/forgotPerUnit {
		t.Errorf("a call is %d", e.units)
	}
}
