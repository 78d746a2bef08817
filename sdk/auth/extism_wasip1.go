package auth

import "encoding/binary"

// The provider of this module; there is only one.
var (
	provider Provider
	manifest Manifest
)

// Register makes p the provider of this plugin. It is called once, from an init
// function of package main.
func Register(m Manifest, p Provider) { manifest, provider = m, p }

//go:wasmexport wharf_auth_describe
func describe() int32 {
	output(Describe(manifest))
	return 0
}

//go:wasmexport wharf_auth_step
func takeStep() int32 {
	if provider == nil {
		panic("auth: no provider: call auth.Register in an init function of package main")
	}
	reply, err := Step(provider, input())
	if err != nil {
		message := []byte(err.Error())
		errorSet(store(message))
		return 1
	}
	output(reply)
	return 0
}

// input copies the input of the call out of Extism's memory, which is outside of this module's
// memory and is read by words.
func input() []byte {
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

func output(b []byte) { outputSet(store(b), uint64(len(b))) }

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
