package main

import (
	"bytes"
	"unsafe"
)

//go:wasmimport wharf1 take
func take(off uint32, ptr unsafe.Pointer, n uint32) uint32

//go:wasmimport wharf1 deliver
func deliver(off, n, flags uint32) int32

//go:wasmexport wharf_abi_1
func marker() {}

var buf [64 << 10]byte

//go:wasmexport wharf_event
func event(kind, handle, arg, n uint32) int32 {
	if kind == 0 {
		return 0
	}
	b := buf[:n]
	take(0, unsafe.Pointer(&b[0]), n)
	off := 0
	if kind == 2 {
		start := 0
		for i, c := range b {
			if c == '\n' {
				deliver(uint32(start), uint32(i-start), 1)
				start = i + 1
			}
		}
		return 0
	}
	for {
		i := bytes.IndexByte(b[off:], '\n')
		if i < 0 {
			break
		}
		deliver(uint32(off), uint32(i), 1)
		off += i + 1
	}
	return int32(off)
}
func main() {}
