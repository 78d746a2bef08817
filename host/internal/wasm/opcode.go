package wasm

// The opcodes that this package names: those that it reads or writes itself, and the
// first and last of each range in the tables (WebAssembly 2.0, 5.4).
const (
	opUnreachable       = 0x00
	opNop               = 0x01
	opBlock             = 0x02
	opLoop              = 0x03
	opIf                = 0x04
	opElse              = 0x05
	opEnd               = 0x0b
	opBr                = 0x0c
	opBrIf              = 0x0d
	opBrTable           = 0x0e
	opReturn            = 0x0f
	opCall              = 0x10
	opCallIndirect      = 0x11
	opDrop              = 0x1a
	opSelect            = 0x1b
	opSelectTyped       = 0x1c
	opLocalGet          = 0x20
	opLocalSet          = 0x21
	opLocalTee          = 0x22
	opGlobalGet         = 0x23
	opGlobalSet         = 0x24
	opTableGet          = 0x25
	opTableSet          = 0x26
	opI32Load           = 0x28
	opI64Load32U        = 0x35
	opI32Store          = 0x36
	opI64Store32        = 0x3e
	opMemorySize        = 0x3f
	opMemoryGrow        = 0x40
	opI32Const          = 0x41
	opI64Const          = 0x42
	opF32Const          = 0x43
	opF64Const          = 0x44
	opI32Eqz            = 0x45
	opI32Eq             = 0x46
	opI32LtS            = 0x48
	opI32GeU            = 0x4f
	opI64Eqz            = 0x50
	opI64Eq             = 0x51
	opI64LtS            = 0x53
	opF64Ge             = 0x66
	opI32Clz            = 0x67
	opI32Add            = 0x6a
	opI32Sub            = 0x6b
	opI32DivS           = 0x6d
	opI32RemU           = 0x70
	opI64Clz            = 0x79
	opI64Sub            = 0x7d
	opI64DivS           = 0x7f
	opI64RemU           = 0x82
	opI64ShrU           = 0x88
	opF32Abs            = 0x8b
	opF32Sqrt           = 0x91
	opF32Add            = 0x92
	opF32Div            = 0x95
	opF32Min            = 0x96
	opF32Max            = 0x97
	opF32Copysign       = 0x98
	opF64Abs            = 0x99
	opF64Sqrt           = 0x9f
	opF64Add            = 0xa0
	opF64Div            = 0xa3
	opF64Min            = 0xa4
	opF64Max            = 0xa5
	opF64Copysign       = 0xa6
	opI32WrapI64        = 0xa7
	opI32TruncF32S      = 0xa8
	opI32TruncF64U      = 0xab
	opI64ExtendI32S     = 0xac
	opI64ExtendI32U     = 0xad
	opI64TruncF32S      = 0xae
	opI64TruncF64U      = 0xb1
	opF64PromoteF32     = 0xbb
	opI32ReinterpretF32 = 0xbc
	opF64ReinterpretI64 = 0xbf
	opI32Extend8S       = 0xc0
	opI64Extend32S      = 0xc4
	opRefNull           = 0xd0
	opRefIsNull         = 0xd1
	opRefFunc           = 0xd2
	opMiscPrefix        = 0xfc
	opVectorPrefix      = 0xfd
)

// Opcodes that follow opMiscPrefix.
const (
	opI32TruncSatF32S = 0x00
	opI64TruncSatF64U = 0x07
	opMemoryInit      = 0x08
	opDataDrop        = 0x09
	opMemoryCopy      = 0x0a
	opMemoryFill      = 0x0b
	opTableInit       = 0x0c
	opElemDrop        = 0x0d
	opTableCopy       = 0x0e
	opTableGrow       = 0x0f
	opTableSize       = 0x10
	opTableFill       = 0x11
)

// Opcodes that follow opVectorPrefix.
const (
	opV128Load          = 0x00
	opV128Load64Splat   = 0x0a
	opV128Store         = 0x0b
	opV128Const         = 0x0c
	opI8x16Shuffle      = 0x0d
	opI8x16Swizzle      = 0x0e
	opI8x16Splat        = 0x0f
	opF64x2Splat        = 0x14
	opI8x16ExtractLaneS = 0x15
	opI8x16ReplaceLane  = 0x17
	opI16x8ReplaceLane  = 0x1a
	opI32x4ReplaceLane  = 0x1c
	opI64x2ReplaceLane  = 0x1e
	opF32x4ReplaceLane  = 0x20
	opF64x2ReplaceLane  = 0x22
	opI8x16Eq           = 0x23
	opF64x2Ge           = 0x4c
	opV128Not           = 0x4d
	opV128And           = 0x4e
	opV128Xor           = 0x51
	opV128Bitselect     = 0x52
	opV128AnyTrue       = 0x53
	opV128Load8Lane     = 0x54
	opV128Load64Lane    = 0x57
	opV128Store8Lane    = 0x58
	opV128Store64Lane   = 0x5b
	opV128Load32Zero    = 0x5c
	opV128Load64Zero    = 0x5d
	opI8x16Popcnt       = 0x62
	opI64x2ExtmulLowS   = 0xdc
	opI64x2ExtmulHighU  = 0xdf
	opF32x4Sqrt         = 0xe3
	opF32x4Div          = 0xe7
	opF64x2Sqrt         = 0xef
	opF64x2Div          = 0xf3
)

// Codes of types.
const (
	blockEmpty = 0x40
	typeI32    = 0x7f
	typeI64    = 0x7e
	typeF32    = 0x7d
	typeF64    = 0x7c
	typeV128   = 0x7b
	typeFunc   = 0x70
	typeExtern = 0x6f

	typeFunction = 0x60 // begins the type of a function
)
