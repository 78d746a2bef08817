package wasm

// immediate says what follows an opcode in the binary.
type immediate uint8

const (
	immUnknown      immediate = iota // not in the part of core V2 that is accepted here: refused
	immNone                          // nothing
	immBlock                         // block type; opens a frame
	immElse                          // nothing; begins the other arm of an if
	immEnd                           // nothing; closes a frame
	immLabel                         // label
	immLabels                        // vector of labels, default label
	immReturn                        // nothing; leaves the function
	immUnreachable                   // nothing; traps
	immCall                          // function
	immCallIndirect                  // type, table
	immSelectTypes                   // types of select
	immLocal                         // local
	immGlobal                        // global
	immTable                         // table
	immMemArg                        // alignment, offset
	immZero                          // one zero byte: the only memory
	immS32                           // i32.const
	immS64                           // i64.const
	immF32                           // four bytes
	immF64                           // eight bytes
	immHeapType                      // reference type
	immFunction                      // function: a reference
	immLane                          // lane number
	immMemLane                       // alignment, offset, lane number
	imm16Bytes                       // sixteen bytes
	immDataMem                       // data segment, zero byte
	immData                          // data segment
	immZeroZero                      // two zero bytes
	immElemTable                     // element segment, table
	immElem                          // element segment
	immTableTable                    // table, table
)

// opcode is what the scanner must know of an instruction: how to step over it,
// how it moves the operand stack, and what it costs.
//
// Weights are units of fuel. They are not times: they are set so that no loop takes much
// more time per unit than the worst of the figures in budget.go.
type opcode struct {
	imm       immediate
	pop, push uint8
	weight    uint8
	bulk      uint8  // log2 of the bytes or entries one unit pays for, plus one; 0: no length
	effort    uint16 // what compiling it takes by itself, in units of effort.go
}

// Weights that several instructions share.
const (
	weightRegister = 1  // registers only
	weightJump     = 2  // may be predicted wrongly
	weightLoad     = 16 // reads memory: may miss every cache, and the page tables
	weightTouch    = 4  // writes memory, or reads what is small
	weightDivide   = 8  // division, square root
	weightCall     = 8  // frame, checks
	weightHost     = 60 // leaves native code for Go
)

// The three tables of instructions: plain ones, those after opMiscPrefix, those after
// opVectorPrefix. Instructions that no table has are refused: tail calls (0x12, 0x13, 0x15), exceptions
// (0x06 to 0x0a, 0x18, 0x19, 0x1f), typed references (0x14, 0xd3 and up), threads (0xfe).
var (
	plainOps  = plainTable()
	miscOps   = miscTable()
	vectorOps = vectorTable()
)

// refusedOp is an opcode that no table has.
var refusedOp opcode

func setRange(t *[256]opcode, first, last int, o opcode) {
	for i := first; i <= last; i++ {
		t[i] = o
	}
}

// setEffort sets the effort of compiling each instruction of a range. The figures were measured by
// compiling each by the thousand, with a result that is used: an instruction that only computes
// takes 6; one that may trap takes 5 KB and 5 microseconds for each way to do so; one that writes
// loops takes 30 KB.
func setEffort(t *[256]opcode, first, last int, effort uint16) {
	for i := first; i <= last; i++ {
		t[i].effort = effort
	}
}

func (o opcode) weighing(weight uint8) opcode { o.weight = weight; return o }

func plainTable() *[256]opcode {
	t := &[256]opcode{
		opUnreachable: {imm: immUnreachable},
		opNop:         {imm: immNone},
		opBlock:       {imm: immBlock},
		opLoop:        {imm: immBlock},
		opIf:          {imm: immBlock, pop: 1, weight: weightJump},
		opElse:        {imm: immElse},
		opEnd:         {imm: immEnd},

		opBr:           {imm: immLabel, weight: weightRegister},
		opBrIf:         {imm: immLabel, pop: 1, weight: weightJump},
		opBrTable:      {imm: immLabels, pop: 1, weight: weightTouch},
		opReturn:       {imm: immReturn, weight: weightRegister},
		opCall:         {imm: immCall, weight: weightCall},
		opCallIndirect: {imm: immCallIndirect, pop: 1, weight: 2 * weightCall},

		opDrop:        {imm: immNone, pop: 1},
		opSelect:      {imm: immNone, pop: 3, push: 1, weight: weightRegister},
		opSelectTyped: {imm: immSelectTypes, pop: 3, push: 1, weight: weightRegister},

		opLocalGet:  {imm: immLocal, push: 1, weight: weightRegister},
		opLocalSet:  {imm: immLocal, pop: 1, weight: weightRegister},
		opLocalTee:  {imm: immLocal, pop: 1, push: 1, weight: weightRegister},
		opGlobalGet: {imm: immGlobal, push: 1, weight: weightRegister},
		opGlobalSet: {imm: immGlobal, pop: 1, weight: weightRegister},
		opTableGet:  {imm: immTable, pop: 1, push: 1, weight: weightLoad},
		opTableSet:  {imm: immTable, pop: 2, weight: weightTouch},

		opMemorySize: {imm: immZero, push: 1, weight: weightRegister},
		opMemoryGrow: {imm: immZero, pop: 1, push: 1, weight: weightHost, bulk: 1},

		opI32Const: {imm: immS32, push: 1, weight: weightRegister},
		opI64Const: {imm: immS64, push: 1, weight: weightRegister},
		opF32Const: {imm: immF32, push: 1, weight: weightRegister},
		opF64Const: {imm: immF64, push: 1, weight: weightRegister},

		opRefNull:   {imm: immHeapType, push: 1, weight: weightRegister},
		opRefIsNull: {imm: immNone, pop: 1, push: 1, weight: weightRegister},
		opRefFunc:   {imm: immFunction, push: 1, weight: weightRegister}, // becomes global.get, see rewriting.ownGlobals
	}
	unary := opcode{imm: immNone, pop: 1, push: 1, weight: weightRegister}
	binary := opcode{imm: immNone, pop: 2, push: 1, weight: weightRegister}

	setRange(t, opI32Load, opI64Load32U, opcode{imm: immMemArg, pop: 1, push: 1, weight: weightLoad})
	setRange(t, opI32Store, opI64Store32, opcode{imm: immMemArg, pop: 2, weight: weightTouch})
	setRange(t, opI32Eqz, opI32Eqz, unary)
	setRange(t, opI32Eq, opI32GeU, binary)
	setRange(t, opI64Eqz, opI64Eqz, unary)
	setRange(t, opI64Eq, opF64Ge, binary)
	for _, clz := range []int{opI32Clz, opI64Clz} {
		setRange(t, clz, clz+2, unary)                           // clz, ctz, popcnt
		setRange(t, clz+3, clz+17, binary)                       // arithmetic, shifts
		setRange(t, clz+6, clz+9, binary.weighing(weightDivide)) // div_s to rem_u
	}
	setRange(t, opF32Abs, opF32Sqrt, unary.weighing(2))
	setRange(t, opF32Sqrt, opF32Sqrt, unary.weighing(weightDivide))
	setRange(t, opF32Add, opF32Copysign, binary.weighing(2))
	setRange(t, opF32Div, opF32Div, binary.weighing(weightDivide))
	setRange(t, opF64Abs, opF64Sqrt, unary.weighing(2))
	setRange(t, opF64Sqrt, opF64Sqrt, unary.weighing(weightDivide))
	setRange(t, opF64Add, opF64Copysign, binary.weighing(2))
	setRange(t, opF64Div, opF64Div, binary.weighing(weightDivide))
	setRange(t, opI32WrapI64, opF64ReinterpretI64, unary.weighing(2)) // conversions
	setRange(t, opI32Extend8S, opI64Extend32S, unary)

	setEffort(t, 0x00, 0xff, 6)
	setEffort(t, opTableGet, opTableSet, 45)
	setEffort(t, opI32Load, opI64Store32, 60) // at an address that was not compared with the size of memory before
	setEffort(t, opMemoryGrow, opMemoryGrow, 60)
	setEffort(t, opF32Abs, opF64Copysign, 12)
	setEffort(t, opF32Min, opF32Max, 30)
	setEffort(t, opF64Min, opF64Max, 30)
	setEffort(t, opI32TruncF32S, opF64PromoteF32, 30)
	setEffort(t, opI32DivS, opI32RemU, 60)
	setEffort(t, opI64DivS, opI64RemU, 60)
	setEffort(t, opI32TruncF32S, opI32TruncF64U, 90) // may trap
	setEffort(t, opI64TruncF32S, opI64TruncF64U, 90)
	return t
}

func miscTable() *[256]opcode {
	t := &[256]opcode{
		opMemoryInit: {imm: immDataMem, pop: 3, weight: weightHost, bulk: 3},
		opDataDrop:   {imm: immData, weight: weightTouch},
		opMemoryCopy: {imm: immZeroZero, pop: 3, weight: weightHost, bulk: 3},
		opMemoryFill: {imm: immZero, pop: 3, weight: weightHost, bulk: 3},
		opTableInit:  {imm: immElemTable, pop: 3, weight: weightHost, bulk: 1},
		opElemDrop:   {imm: immElem, weight: weightTouch},
		opTableCopy:  {imm: immTableTable, pop: 3, weight: weightHost, bulk: 1},
		opTableGrow:  {imm: immTable, pop: 2, push: 1, weight: weightHost, bulk: 1},
		opTableSize:  {imm: immTable, push: 1, weight: weightTouch},
		opTableFill:  {imm: immTable, pop: 3, weight: weightHost, bulk: 1},
	}
	setRange(t, opI32TruncSatF32S, opI64TruncSatF64U, opcode{imm: immNone, pop: 1, push: 1, weight: 4})

	setEffort(t, opI32TruncSatF32S, opI64TruncSatF64U, 60)
	setEffort(t, opMemoryInit, opTableFill, 250)
	setEffort(t, opMemoryFill, opMemoryFill, 350)
	setEffort(t, opTableFill, opTableFill, 350)
	setEffort(t, opTableSize, opTableSize, 6)
	return t
}

func vectorTable() *[256]opcode {
	t := &[256]opcode{}
	unary := opcode{imm: immNone, pop: 1, push: 1, weight: 4}
	binary := opcode{imm: immNone, pop: 2, push: 1, weight: 4}
	load := opcode{imm: immMemArg, pop: 1, push: 1, weight: weightLoad}

	setRange(t, opV128Load, opV128Load64Splat, load)
	t[opV128Store] = opcode{imm: immMemArg, pop: 2, weight: weightTouch}
	t[opV128Const] = opcode{imm: imm16Bytes, push: 1, weight: 2}
	t[opI8x16Shuffle] = opcode{imm: imm16Bytes, pop: 2, push: 1, weight: 4}
	t[opI8x16Swizzle] = binary
	setRange(t, opI8x16Splat, opF64x2Splat, unary)
	setRange(t, opI8x16ExtractLaneS, opF64x2ReplaceLane, opcode{imm: immLane, pop: 1, push: 1, weight: 2})
	for _, replace := range []int{opI8x16ReplaceLane, opI16x8ReplaceLane, opI32x4ReplaceLane,
		opI64x2ReplaceLane, opF32x4ReplaceLane, opF64x2ReplaceLane} {
		t[replace] = opcode{imm: immLane, pop: 2, push: 1, weight: 2}
	}
	setRange(t, opI8x16Eq, opF64x2Ge, binary) // comparisons
	t[opV128Not] = unary
	setRange(t, opV128And, opV128Xor, binary)
	t[opV128Bitselect] = opcode{imm: immNone, pop: 3, push: 1, weight: 4}
	t[opV128AnyTrue] = unary
	setRange(t, opV128Load8Lane, opV128Load64Lane, opcode{imm: immMemLane, pop: 2, push: 1, weight: weightLoad})
	setRange(t, opV128Store8Lane, opV128Store64Lane, opcode{imm: immMemLane, pop: 2, weight: weightTouch})
	setRange(t, opV128Load32Zero, opV128Load64Zero, load)

	// The rest is arithmetic with one or two operands, with a few unassigned opcodes in
	// between: first all that exist, then those with one operand.
	for _, r := range [][2]int{
		{0x5e, 0x99}, {0x9b, 0x9f}, // conversions of floats, i8x16, i16x8
		{0xa0, 0xa1}, {0xa3, 0xa4}, {0xa7, 0xae}, {0xb1, 0xb1}, {0xb5, 0xba}, {0xbc, 0xbf}, // i32x4
		{0xc0, 0xc1}, {0xc3, 0xc4}, {0xc7, 0xce}, {0xd1, 0xd1}, {0xd5, 0xdf}, // i64x2
		{0xe0, 0xe1}, {0xe3, 0xeb}, // f32x4
		{0xec, 0xed}, {0xef, 0xf7}, // f64x2
		{0xf8, 0xff}, // conversions between integers and floats
	} {
		setRange(t, r[0], r[1], binary.weighing(6))
	}
	for _, r := range [][2]int{
		{0x5e, 0x5f},                                           // f32x4.demote, f64x2.promote
		{0x60, 0x64},                                           // i8x16 abs, neg, popcnt, all_true, bitmask
		{0x67, 0x6a}, {0x74, 0x75}, {0x7a, 0x7a}, {0x94, 0x94}, // f32x4, f64x2 ceil, floor, trunc, nearest
		{0x7c, 0x7f},                             // i16x8, i32x4 extadd_pairwise
		{0x80, 0x81}, {0x83, 0x84}, {0x87, 0x8a}, // i16x8 abs, neg, all_true, bitmask, extend
		{0xa0, 0xa1}, {0xa3, 0xa4}, {0xa7, 0xaa}, // i32x4, the same
		{0xc0, 0xc1}, {0xc3, 0xc4}, {0xc7, 0xca}, // i64x2, the same
		{0xe0, 0xe1}, {0xe3, 0xe3}, // f32x4 abs, neg, sqrt
		{0xec, 0xed}, {0xef, 0xef}, // f64x2 abs, neg, sqrt
		{0xf8, 0xff}, // trunc_sat and convert
	} {
		setRange(t, r[0], r[1], unary.weighing(6))
	}
	t[opF32x4Sqrt], t[opF64x2Sqrt] = unary.weighing(12), unary.weighing(12)
	t[opF32x4Div], t[opF64x2Div] = binary.weighing(12), binary.weighing(12)

	setEffort(t, 0x00, 0xff, 25)
	setEffort(t, opV128Load, opV128Store, 70)
	setEffort(t, opV128Const, opI8x16Shuffle, 35)
	setEffort(t, opV128Load8Lane, opV128Load64Zero, 70)
	setEffort(t, opI8x16Popcnt, opI8x16Popcnt, 40)
	setEffort(t, opI64x2ExtmulLowS, opI64x2ExtmulHighU, 40)
	return t
}
