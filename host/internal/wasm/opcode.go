package wasm

// The opcodes that this package names, a family on each line: those that it reads or
// writes itself, and the first and last of each range in the tables (WebAssembly 2.0, 5.4).
const (
	opUnreachable, opNop                           = 0x00, 0x01
	opBlock, opLoop, opIf, opElse, opEnd           = 0x02, 0x03, 0x04, 0x05, 0x0b
	opBr, opBrIf, opBrTable, opReturn              = 0x0c, 0x0d, 0x0e, 0x0f
	opCall, opCallIndirect                         = 0x10, 0x11
	opDrop, opSelect, opSelectTyped                = 0x1a, 0x1b, 0x1c
	opLocalGet, opLocalSet, opLocalTee             = 0x20, 0x21, 0x22
	opGlobalGet, opGlobalSet                       = 0x23, 0x24
	opTableGet, opTableSet                         = 0x25, 0x26
	opI32Load, opI64Load32U                        = 0x28, 0x35 // all loads
	opI32Store, opI64Store32                       = 0x36, 0x3e // all stores
	opMemorySize, opMemoryGrow                     = 0x3f, 0x40
	opI32Const, opI64Const, opF32Const, opF64Const = 0x41, 0x42, 0x43, 0x44

	opI32Eqz, opI32Eq, opI32LtS, opI32GeU               = 0x45, 0x46, 0x48, 0x4f
	opI64Eqz, opI64Eq, opI64LtS                         = 0x50, 0x51, 0x53
	opF64Ge                                             = 0x66 // the last comparison
	opI32Clz, opI32Add, opI32Sub, opI32DivS, opI32RemU  = 0x67, 0x6a, 0x6b, 0x6d, 0x70
	opI32Or                                             = 0x72
	opI64Clz, opI64Sub, opI64DivS, opI64RemU, opI64ShrU = 0x79, 0x7d, 0x7f, 0x82, 0x88
	opF32Abs, opF32Sqrt, opF32Add, opF32Div             = 0x8b, 0x91, 0x92, 0x95
	opF32Min, opF32Max, opF32Copysign                   = 0x96, 0x97, 0x98
	opF64Abs, opF64Sqrt, opF64Add, opF64Div             = 0x99, 0x9f, 0xa0, 0xa3
	opF64Min, opF64Max, opF64Copysign                   = 0xa4, 0xa5, 0xa6
	opI32WrapI64, opI32TruncF32S, opI32TruncF64U        = 0xa7, 0xa8, 0xab
	opI64ExtendI32U, opI64TruncF32S, opI64TruncF64U     = 0xad, 0xae, 0xb1
	opF64PromoteF32                                     = 0xbb
	opI32ReinterpretF32, opF64ReinterpretI64            = 0xbc, 0xbf
	opI32Extend8S, opI64Extend32S                       = 0xc0, 0xc4
	opRefNull, opRefIsNull, opRefFunc                   = 0xd0, 0xd1, 0xd2
	opMiscPrefix, opVectorPrefix                        = 0xfc, 0xfd
)

// Opcodes that follow opMiscPrefix.
const (
	opI32TruncSatF32S, opI64TruncSatF64U                 = 0x00, 0x07
	opMemoryInit, opDataDrop, opMemoryCopy, opMemoryFill = 0x08, 0x09, 0x0a, 0x0b
	opTableInit, opElemDrop                              = 0x0c, 0x0d
	opTableCopy, opTableGrow, opTableSize, opTableFill   = 0x0e, 0x0f, 0x10, 0x11
)

// Opcodes that follow opVectorPrefix.
const (
	opV128Load, opV128Load64Splat                              = 0x00, 0x0a
	opV128Store, opV128Const                                   = 0x0b, 0x0c
	opI8x16Shuffle, opI8x16Swizzle                             = 0x0d, 0x0e
	opI8x16Splat, opF64x2Splat                                 = 0x0f, 0x14
	opI8x16ExtractLaneS                                        = 0x15 // the first of those that name a lane
	opI8x16ReplaceLane, opI16x8ReplaceLane, opI32x4ReplaceLane = 0x17, 0x1a, 0x1c
	opI64x2ReplaceLane, opF32x4ReplaceLane, opF64x2ReplaceLane = 0x1e, 0x20, 0x22
	opI8x16Eq, opF64x2Ge                                       = 0x23, 0x4c // all comparisons
	opV128Not, opV128And, opV128Xor                            = 0x4d, 0x4e, 0x51
	opV128Bitselect, opV128AnyTrue                             = 0x52, 0x53
	opV128Load8Lane, opV128Load64Lane                          = 0x54, 0x57
	opV128Store8Lane, opV128Store64Lane                        = 0x58, 0x5b
	opV128Load32Zero, opV128Load64Zero                         = 0x5c, 0x5d
	opI8x16Popcnt                                              = 0x62
	opI64x2ExtmulLowS, opI64x2ExtmulHighU                      = 0xdc, 0xdf
	opF32x4Sqrt, opF32x4Div, opF64x2Sqrt, opF64x2Div           = 0xe3, 0xe7, 0xef, 0xf3
)

// Codes of types.
const (
	blockEmpty                         = 0x40
	typeI32, typeI64, typeF32, typeF64 = 0x7f, 0x7e, 0x7d, 0x7c
	typeV128, typeFunc, typeExtern     = 0x7b, 0x70, 0x6f
	typeFunction                       = 0x60 // begins the type of a function
)
