package wasm

// immediate says what follows an opcode in the binary.
type immediate uint8

const (
	unknown    immediate = iota // not in core V2 as we take it: refused
	none                        // nothing
	enter                       // block type; opens a frame
	alternate                   // else
	leave                       // end
	branch                      // label
	branches                    // vector of labels, default label
	giveBack                    // return
	stuck                       // unreachable
	direct                      // function: a call
	indirect                    // type, table: a call
	typed                       // select with its types
	local                       // local
	global                      // global
	table                       // table
	memarg                      // alignment, offset
	zero                        // one zero byte: the only memory
	s32                         // i32.const
	s64                         // i64.const
	f32                         // four bytes
	f64                         // eight bytes
	heap                        // reference type
	function                    // function: a reference
	lane                        // lane number
	memlane                     // alignment, offset, lane number
	b16                         // sixteen bytes
	dataMem                     // data segment, zero byte
	data                        // data segment
	zeroZero                    // two zero bytes
	elemTable                   // element segment, table
	elem                        // element segment
	tableTable                  // table, table
)

// opcode is what the scanner must know of an instruction: how to step over it,
// how it moves the operand stack, and what it costs.
//
// Weights are units of fuel. They are not times: they are set so that no loop
// spends much more than the worst of the figures in budget.go per unit. A load
// is dear because it may miss every cache. Calls and growing leave native code or
// touch tables.
type opcode struct {
	imm       immediate
	pop, push uint8
	weight    uint8
	bulk      uint8  // log2 of the bytes or entries one unit pays for, plus one; 0: no length
	effort    uint16 // what compiling it takes by itself, in units of effort.go
}

// The three tables of instructions: plain ones, those after 0xfc, those after
// 0xfd. What is absent is refused: tail calls (0x12, 0x13, 0x15), exceptions
// (0x06 to 0x0a, 0x18, 0x19, 0x1f), typed references (0x14, 0xd3 and up), threads (0xfe).
var (
	plainOps  = plainTable()
	miscOps   = miscTable()
	vectorOps = vectorTable()
)

const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opElse         = 0x05
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opReturn       = 0x0f
	opCall         = 0x10
	opCallIndirect = 0x11
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opI32Const     = 0x41
	opI64Const     = 0x42
	opI32LtS       = 0x48
	opI64LtS       = 0x53
	opI32Add       = 0x6a
	opI32Sub       = 0x6b
	opI64Sub       = 0x7d
	opI64ShrU      = 0x88
	opExtendU      = 0xad
	opRefFunc      = 0xd2
	opMisc         = 0xfc
	opVector       = 0xfd

	blockEmpty = 0x40
	typeI32    = 0x7f
	typeI64    = 0x7e
	typeF32    = 0x7d
	typeF64    = 0x7c
	typeV128   = 0x7b
	typeFunc   = 0x70
	typeExtern = 0x6f
)

// lift raises the effort of instructions over the 6 of one that only computes. They
// were compiled by the thousand, each with a result that is used: what may trap takes
// 5 KB and 5 microseconds for each way to do so, what writes loops 30 KB.
func lift(t *[256]opcode, from, to int, effort uint16) {
	for i := from; i <= to; i++ {
		t[i].effort = effort
	}
}

// weights that more than one instruction shares.
const (
	cheap  = 1  // registers only
	jump   = 2  // may be predicted wrongly
	load   = 16 // reads memory: may miss every cache, and the page tables
	touch  = 4  // writes memory, or reads what is small
	divide = 8  // division, square root
	called = 8  // frame, checks
	leaves = 60 // leaves native code for Go
)

func span(t *[256]opcode, from, to int, o opcode) {
	for i := from; i <= to; i++ {
		t[i] = o
	}
}

func plainTable() *[256]opcode {
	t := &[256]opcode{
		0x00: {imm: stuck},
		0x01: {imm: none},
		0x02: {imm: enter},
		0x03: {imm: enter},
		0x04: {imm: enter, pop: 1, weight: jump},
		0x05: {imm: alternate},
		0x0b: {imm: leave},
		0x0c: {imm: branch, weight: cheap},
		0x0d: {imm: branch, pop: 1, weight: jump},
		0x0e: {imm: branches, pop: 1, weight: touch},
		0x0f: {imm: giveBack, weight: cheap},
		0x10: {imm: direct, weight: called},
		0x11: {imm: indirect, pop: 1, weight: 2 * called},
		0x1a: {imm: none, pop: 1},
		0x1b: {imm: none, pop: 3, push: 1, weight: cheap},
		0x1c: {imm: typed, pop: 3, push: 1, weight: cheap},
		0x20: {imm: local, push: 1, weight: cheap},
		0x21: {imm: local, pop: 1, weight: cheap},
		0x22: {imm: local, pop: 1, push: 1, weight: cheap},
		0x23: {imm: global, push: 1, weight: cheap},
		0x24: {imm: global, pop: 1, weight: cheap},
		0x25: {imm: table, pop: 1, push: 1, weight: load},
		0x26: {imm: table, pop: 2, weight: touch},
		0x3f: {imm: zero, push: 1, weight: cheap},
		0x40: {imm: zero, pop: 1, push: 1, weight: leaves, bulk: 1},
		0x41: {imm: s32, push: 1, weight: cheap},
		0x42: {imm: s64, push: 1, weight: cheap},
		0x43: {imm: f32, push: 1, weight: cheap},
		0x44: {imm: f64, push: 1, weight: cheap},
		0xd0: {imm: heap, push: 1, weight: cheap},
		0xd1: {imm: none, pop: 1, push: 1, weight: cheap},
		0xd2: {imm: function, push: 1, weight: cheap}, // becomes global.get, see rewriting.ownGlobals
	}
	unary := opcode{imm: none, pop: 1, push: 1, weight: cheap}
	binary := opcode{imm: none, pop: 2, push: 1, weight: cheap}
	slow := func(o opcode, weight uint8) opcode { o.weight = weight; return o }

	span(t, 0x28, 0x35, opcode{imm: memarg, pop: 1, push: 1, weight: load})
	span(t, 0x36, 0x3e, opcode{imm: memarg, pop: 2, weight: touch})
	span(t, 0x45, 0x45, unary)  // i32.eqz
	span(t, 0x46, 0x4f, binary) // i32 comparisons
	span(t, 0x50, 0x50, unary)  // i64.eqz
	span(t, 0x51, 0x66, binary) // i64, f32, f64 comparisons
	for _, base := range []int{0x67, 0x79} {
		span(t, base, base+2, unary)     // clz, ctz, popcnt
		span(t, base+3, base+17, binary) // arithmetic, shifts
		span(t, base+6, base+9, slow(binary, divide))
	}
	for _, base := range []int{0x8b, 0x99} {
		span(t, base, base+6, slow(unary, 2))
		span(t, base+6, base+6, slow(unary, divide))
		span(t, base+7, base+13, slow(binary, 2))
		span(t, base+10, base+10, slow(binary, divide))
	}
	span(t, 0xa7, 0xbf, slow(unary, 2)) // conversions
	span(t, 0xc0, 0xc4, unary)          // sign extension

	lift(t, 0x00, 0xff, 6)
	lift(t, 0x25, 0x26, 45) // tables
	lift(t, 0x28, 0x3e, 60) // memory, at an address that was not compared with its size before
	lift(t, 0x40, 0x40, 60) // memory.grow
	lift(t, 0x8b, 0xa6, 12) // floats
	lift(t, 0x96, 0x97, 30) //
	lift(t, 0xa4, 0xa5, 30) //
	lift(t, 0xa8, 0xbb, 30) // conversions
	for _, of := range [][2]int{{0x6d, 0x70}, {0x7f, 0x82}} {
		lift(t, of[0], of[1], 60) // divisions
	}
	for _, to := range []int{0xa8, 0xae} {
		lift(t, to, to+3, 90) // conversions that may trap
	}
	return t
}

func miscTable() *[256]opcode {
	t := &[256]opcode{
		0x08: {imm: dataMem, pop: 3, weight: leaves, bulk: 3},
		0x09: {imm: data, weight: touch},
		0x0a: {imm: zeroZero, pop: 3, weight: leaves, bulk: 3},
		0x0b: {imm: zero, pop: 3, weight: leaves, bulk: 3},
		0x0c: {imm: elemTable, pop: 3, weight: leaves, bulk: 1},
		0x0d: {imm: elem, weight: touch},
		0x0e: {imm: tableTable, pop: 3, weight: leaves, bulk: 1},
		0x0f: {imm: table, pop: 2, push: 1, weight: leaves, bulk: 1},
		0x10: {imm: table, push: 1, weight: touch},
		0x11: {imm: table, pop: 3, weight: leaves, bulk: 1},
	}
	span(t, 0x00, 0x07, opcode{imm: none, pop: 1, push: 1, weight: 4}) // saturating conversions

	lift(t, 0x00, 0x07, 60)
	lift(t, 0x08, 0x11, 250)
	lift(t, 0x0b, 0x0b, 350)
	lift(t, 0x11, 0x11, 350)
	lift(t, 0x10, 0x10, 6) // table.size
	return t
}

func vectorTable() *[256]opcode {
	t := &[256]opcode{}
	unary := opcode{imm: none, pop: 1, push: 1, weight: 4}
	binary := opcode{imm: none, pop: 2, push: 1, weight: 4}
	read := opcode{imm: memarg, pop: 1, push: 1, weight: load}
	slow := func(o opcode, weight uint8) opcode { o.weight = weight; return o }

	span(t, 0x00, 0x0a, read)
	t[0x0b] = opcode{imm: memarg, pop: 2, weight: touch}
	t[0x0c] = opcode{imm: b16, push: 1, weight: 2}
	t[0x0d] = opcode{imm: b16, pop: 2, push: 1, weight: 4}
	t[0x0e] = binary // swizzle
	span(t, 0x0f, 0x14, unary)
	span(t, 0x15, 0x22, opcode{imm: lane, pop: 1, push: 1, weight: 2})
	for _, replace := range []int{0x17, 0x1a, 0x1c, 0x1e, 0x20, 0x22} {
		t[replace] = opcode{imm: lane, pop: 2, push: 1, weight: 2}
	}
	span(t, 0x23, 0x4c, binary) // comparisons
	t[0x4d] = unary             // not
	span(t, 0x4e, 0x51, binary)
	t[0x52] = opcode{imm: none, pop: 3, push: 1, weight: 4} // bitselect
	t[0x53] = unary
	span(t, 0x54, 0x57, opcode{imm: memlane, pop: 2, push: 1, weight: load})
	span(t, 0x58, 0x5b, opcode{imm: memlane, pop: 2, weight: touch})
	span(t, 0x5c, 0x5d, read)

	// From here on the table is dense with one- and two-operand arithmetic;
	// first everything that exists, then those with one operand.
	for _, r := range [][2]int{
		{0x5e, 0x99}, {0x9b, 0xa1}, {0xa3, 0xa4}, {0xa7, 0xae}, {0xb1, 0xb1}, {0xb5, 0xba},
		{0xbc, 0xc1}, {0xc3, 0xc4}, {0xc7, 0xce}, {0xd1, 0xd1}, {0xd5, 0xe1}, {0xe3, 0xed}, {0xef, 0xff},
	} {
		span(t, r[0], r[1], slow(binary, 6))
	}
	for _, r := range [][2]int{
		{0x5e, 0x64}, {0x67, 0x6a}, {0x74, 0x75}, {0x7a, 0x7a}, {0x7c, 0x81}, {0x83, 0x84}, {0x87, 0x8a},
		{0x94, 0x94}, {0xa0, 0xa1}, {0xa3, 0xa4}, {0xa7, 0xaa}, {0xc0, 0xc1}, {0xc3, 0xc4}, {0xc7, 0xca},
		{0xe0, 0xe1}, {0xe3, 0xe3}, {0xec, 0xed}, {0xef, 0xef}, {0xf8, 0xff},
	} {
		span(t, r[0], r[1], slow(unary, 6))
	}
	span(t, 0xe3, 0xe3, slow(unary, 12))  // square roots and divisions: four at once
	span(t, 0xef, 0xef, slow(unary, 12))  //
	span(t, 0xe7, 0xe7, slow(binary, 12)) //
	span(t, 0xf3, 0xf3, slow(binary, 12)) //

	lift(t, 0x00, 0xff, 25)
	lift(t, 0x00, 0x0b, 70)
	lift(t, 0x0c, 0x0d, 35)
	lift(t, 0x54, 0x5d, 70)
	lift(t, 0x62, 0x62, 40)
	lift(t, 0xdc, 0xdf, 40)
	return t
}
