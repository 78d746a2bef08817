package kernel

import "encoding/binary"

// Input copies the input of the call out of Extism's memory, which is outside of this module's
// memory and is read by words.
func Input() []byte {
	n := inputLength()
	b := make([]byte, (n+7)&^7)
	var at uint64
	for ; at+8 <= n; at += 8 {
		binary.LittleEndian.PutUint64(b[at:], inputLoad64(at))
	}
	for ; at < n; at++ {
		b[at] = byte(inputLoad8(at))
	}
	return b[:n]
}

// Reply makes b the output of the call, or err its error. It returns what the export returns.
func Reply(b []byte, err error) int32 {
	if err != nil {
		errorSet(store([]byte(err.Error())))
		return 1
	}
	outputSet(store(b), uint64(len(b)))
	return 0
}

// store copies b into Extism's memory.
func store(b []byte) (offset uint64) {
	n := uint64(len(b))
	offset = alloc(n)
	var at uint64
	for ; at+8 <= n; at += 8 {
		store64(offset+at, binary.LittleEndian.Uint64(b[at:]))
	}
	for ; at < n; at++ {
		store8(offset+at, uint32(b[at]))
	}
	return offset
}

//go:wasmimport extism:host/env input_length
func inputLength() uint64

//go:wasmimport extism:host/env input_load_u64
func inputLoad64(offset uint64) uint64

//go:wasmimport extism:host/env input_load_u8
func inputLoad8(offset uint64) uint32

//go:wasmimport extism:host/env alloc
func alloc(n uint64) uint64

//go:wasmimport extism:host/env store_u64
func store64(offset, value uint64)

//go:wasmimport extism:host/env store_u8
func store8(offset uint64, value uint32)

//go:wasmimport extism:host/env output_set
func outputSet(offset, n uint64)

//go:wasmimport extism:host/env error_set
func errorSet(offset uint64)
