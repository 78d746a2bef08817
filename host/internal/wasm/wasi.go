package wasm

import (
	"encoding/binary"
	"strings"
)

// wasi is all of wasi_snapshot_preview1 that a module is offered: what language
// runtimes need to start, print and die. There are no files, no sockets and no
// arguments; every other import is refused before the module is compiled.
//
// Every function answers with an errno; a pointer outside of memory is EFAULT,
// as in other implementations, and not the end of the instance.
var wasi = join(wasiEnviron, wasiClock, wasiRandom, wasiFiles, wasiPoll, wasiProcess)

const wasiModule = "wasi_snapshot_preview1"

func join(families ...[]hostFunc) (all []hostFunc) {
	for _, f := range families {
		all = append(all, f...)
	}
	return all
}

// errno is a WASI error number.
type errno uint64

const (
	success errno = 0
	eBadf   errno = 8
	eFault  errno = 21
	eInval  errno = 28
	eNosys  errno = 52
	eSpipe  errno = 70
)

// wasiCall is the price of any of these functions: a host call and some work.
const wasiCall = 200

// call describes a WASI function. Params is one letter for each: i for i32, I
// for i64. Every one returns an errno.
func call(name, params string, run func(in *Instance, args []uint64) errno) hostFunc {
	return hostFunc{
		module:    wasiModule,
		name:      name,
		signature: signature{letters(params), letters("i")},
		price:     wasiCall,
		run: func(in *Instance, stack []uint64) {
			stack[0] = uint64(run(in, stack))
		},
	}
}

// letters are the types that i and I stand for.
func letters(s string) string {
	return strings.NewReplacer("i", string(rune(typeI32)), "I", string(rune(typeI64))).Replace(s)
}

// put32 writes v at ptr.
func put32(in *Instance, ptr uint64, v uint32) errno {
	b, ok := in.Memory(uint32(ptr), 4)
	if !ok {
		return eFault
	}
	binary.LittleEndian.PutUint32(b, v)
	return success
}

// put64 writes v at ptr.
func put64(in *Instance, ptr, v uint64) errno {
	b, ok := in.Memory(uint32(ptr), 8)
	if !ok {
		return eFault
	}
	binary.LittleEndian.PutUint64(b, v)
	return success
}

// both writes two numbers, at two places.
func both(in *Instance, ptr1 uint64, v1 uint32, ptr2 uint64, v2 uint32) errno {
	if e := put32(in, ptr1, v1); e != success {
		return e
	}
	return put32(in, ptr2, v2)
}
