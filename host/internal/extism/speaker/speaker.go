// Package speaker makes small modules for tests of what plugins do on Extism.
package speaker

import (
	"encoding/binary"
	"slices"
	"strings"
)

// Module is a module of a few hundred bytes that says the same with each call. It is written byte by byte:
// no compiler would make what some of these do.
type Module struct {
	Describe, Call  string // its exports
	Manifest, Reply string
	Exit            int      // with which both leave, after they have spoken; below zero they stay
	Imports         []string // more of them, each a function () -> ()
	Raw             []byte   // in place of the code of Call
}

// The functions of a module, by their index, for [Module].Raw.
const (
	Alloc = iota
	Store
	Output
	Exit
	Speak
)

// Binary returns the module.
func (s Module) Binary() []byte {
	const i32, i64 = 0x7f, 0x7e
	out := []byte("\x00asm\x01\x00\x00\x00")
	types := [][]byte{{0x60, 1, i64, 1, i64}, {0x60, 2, i64, i32, 0}, {0x60, 2, i64, i64, 0}, {0x60, 1, i32, 0}, {0x60, 2, i32, i32, 0}, {0x60, 0, 1, i32}, {0x60, 0, 0}}
	out = section(out, 1, types...)
	imports := [][]byte{
		imported("extism:host/env", "alloc", 0), imported("extism:host/env", "store_u64", 2),
		imported("extism:host/env", "output_set", 2), imported("wasi_snapshot_preview1", "proc_exit", 3),
	}
	for _, name := range s.Imports {
		imports = append(imports, imported("extism:host/env", name, 6))
	}
	more := byte(len(s.Imports))
	out = section(out, 2, imports...)
	out = section(out, 3, []byte{4}, []byte{5}, []byte{5})
	out = section(out, 5, append([]byte{0}, leb((len(s.Manifest)+len(s.Reply))>>16+1)...))
	out = section(out, 7, export("memory", 2, 0), export(s.Describe, 0, Speak+more+1), export(s.Call, 0, Speak+more+2))
	says := func(at, n int) []byte {
		code := append(append([]byte{0x41}, leb(at)...), append(append([]byte{0x41}, leb(n)...), 0x10, Speak+more)...)
		if s.Exit >= 0 {
			code = append(append(append(code, 0x41), leb(s.Exit)...), 0x10, Exit)
		}
		return append(code, 0x41, 0, 0x0b)
	}
	reply := s.Raw
	if reply == nil {
		reply = says(len(s.Manifest), len(s.Reply))
	}
	out = section(out, 10, body(nil, speak), body(nil, says(0, len(s.Manifest))), body([]byte{1, 8, i32}, reply))
	text := s.Manifest + s.Reply
	return section(out, 11, append(append([]byte{0, 0x41, 0, 0x0b}, leb(len(text))...), text...))
}

// speak copies n bytes at p into Extism's memory, eight at a time, and says that
// they are the output. Local 2 is the offset there, 3 counts.
var speak = append([]byte{2, 1, 0x7e, 1, 0x7f}, // locals are part of it
	0x20, 1, 0xad, 0x42, 8, 0x7c, 0x10, Alloc, 0x21, 2,
	0x02, 0x40, 0x03, 0x40, 0x20, 3, 0x20, 1, 0x4f, 0x0d, 1, // block, loop: leave if 3 >= n
	0x20, 2, 0x20, 3, 0xad, 0x7c, 0x20, 0, 0x20, 3, 0x6a, 0x29, 0, 0, 0x10, Store,
	0x20, 3, 0x41, 8, 0x6a, 0x21, 3, 0x0c, 0, 0x0b, 0x0b,
	0x20, 2, 0x20, 1, 0xad, 0x10, Output, 0x0b)

// body is a function; locals nil means that code begins with them.
func body(locals, code []byte) []byte {
	switch {
	case locals != nil:
		code = append(append([]byte{}, locals...), code...)
	case &code[0] != &speak[0]:
		code = append([]byte{0}, code...)
	}
	return append(leb(len(code)), code...)
}

func section(out []byte, id byte, entries ...[]byte) []byte {
	content := leb(len(entries))
	for _, e := range entries {
		content = append(content, e...)
	}
	return append(append(append(out, id), leb(len(content))...), content...)
}

func imported(module, name string, typ byte) []byte {
	b := append(append(leb(len(module)), module...), leb(len(name))...)
	return append(append(b, name...), 0, typ)
}

func export(name string, kind, index byte) []byte {
	return append(append(leb(len(name)), name...), kind, index)
}

// leb writes a number that is positive as a signed one too.
func leb(n int) []byte {
	b := binary.AppendUvarint(nil, uint64(n))
	if b[len(b)-1]&0x40 != 0 {
		b[len(b)-1] |= 0x80
		b = append(b, 0)
	}
	return b
}

// Counting returns m with the code of a module that counts its calls, up to nine: the first 0 of its reply is
// the count.
func (m Module) Counting() Module {
	at := len(m.Manifest)
	digit := number(at + strings.Index(m.Reply, "0"))
	m.Raw = slices.Concat(digit, digit, []byte{0x2d, 0, 0, 0x41, 1, 0x6a, 0x3a, 0, 0}, number(at), number(len(m.Reply)), []byte{0x10, Speak, 0x41, 0, 0x0b})
	return m
}

// number returns the code that pushes a number.
func number(n int) []byte { return append([]byte{0x41}, leb(n)...) }
