package wasm

import (
	"context"
	"testing"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

// build is a module under construction, for tests that need what no compiler
// emits. Zero fields leave their section out; raw puts a section in as it is.
type build struct {
	types   []signature
	imports []imported
	funcs   []fn
	tables  []bounds
	memory  *bounds
	globals int // mutable i64s
	exports []exported
	elems   []uint32 // functions, from entry 0 of table 0 on
	data    []string // from address 0 on, one byte apart
	raw     map[byte][]byte
}

// fn is one function: its type, groups of i32 locals, its code without the end.
type fn struct {
	typ    uint32
	locals []uint32
	code   []byte
}

// bytes encodes the module.
func (m build) bytes() []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	put := func(id byte, n int, entry func(b []byte, i int) []byte) {
		content, raw := m.raw[id]
		if !raw {
			if n == 0 {
				return
			}
			content = appendU32(nil, uint32(n))
			for i := range n {
				content = entry(content, i)
			}
		}
		out = append(appendU32(append(out, id), uint32(len(content))), content...)
	}
	put(sectionType, len(m.types), func(b []byte, i int) []byte {
		return appendName(appendName(append(b, 0x60), m.types[i].params), m.types[i].results)
	})
	put(sectionImport, len(m.imports), func(b []byte, i int) []byte {
		x := m.imports[i]
		return appendU32(append(appendName(appendName(b, x.module), x.name), x.kind), x.typ)
	})
	put(sectionFunction, len(m.funcs), func(b []byte, i int) []byte { return appendU32(b, m.funcs[i].typ) })
	put(sectionTable, len(m.tables), func(b []byte, i int) []byte { return m.tables[i].append(append(b, typeFunc)) })
	if m.memory != nil {
		put(sectionMemory, 1, func(b []byte, _ int) []byte { return m.memory.append(b) })
	}
	put(sectionGlobal, m.globals, func(b []byte, _ int) []byte { return append(b, typeI64, 1, opI64Const, 0, opEnd) })
	put(sectionExport, len(m.exports), func(b []byte, i int) []byte {
		return appendU32(append(appendName(b, m.exports[i].name), m.exports[i].kind), m.exports[i].index)
	})
	put(sectionStart, 0, nil)
	put(sectionElement, min(len(m.elems), 1), func(b []byte, _ int) []byte {
		b = appendU32(append(b, 0, opI32Const, 0, opEnd), uint32(len(m.elems)))
		for _, f := range m.elems {
			b = appendU32(b, f)
		}
		return b
	})
	put(sectionDataCount, 0, nil)
	put(sectionCode, len(m.funcs), func(b []byte, i int) []byte {
		body := appendU32(nil, uint32(len(m.funcs[i].locals)))
		for _, n := range m.funcs[i].locals {
			body = append(appendU32(body, n), typeI32)
		}
		body = append(append(body, m.funcs[i].code...), opEnd)
		return append(appendU32(b, uint32(len(body))), body...)
	})
	put(sectionData, len(m.data), func(b []byte, i int) []byte {
		return appendName(append(appendS64(append(b, 0, opI32Const), int64(i)), opEnd), m.data[i])
	})
	return out
}

func (b bounds) append(out []byte) []byte {
	if b.capped {
		return appendU32(appendU32(append(out, 1), b.min), b.max)
	}
	return appendU32(append(out, 0), b.min)
}

// seq joins instructions: bytes, ints as bytes, strings and slices.
func seq(parts ...any) (out []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case byte:
			out = append(out, p)
		case int:
			out = append(out, byte(p))
		case []byte:
			out = append(out, p...)
		}
	}
	return out
}

func i32c(v int32) []byte     { return appendS64([]byte{opI32Const}, int64(v)) }
func i64c(v int64) []byte     { return appendS64([]byte{opI64Const}, v) }
func get(local uint32) []byte { return appendU32([]byte{opLocalGet}, local) }
func set(local uint32) []byte { return appendU32([]byte{opLocalSet}, local) }
func callTo(f uint32) []byte  { return appendU32([]byte{opCall}, f) }
func forever(code ...any) []byte {
	return seq(opLoop, blockEmpty, seq(code...), opBr, 0, opEnd)
}

// The types of one: nothing to nothing, and i32 to i32.
const (
	nullary = 0
	unary   = 1
)

const i32 = "\x7f"

// one is a module that exports run, an i32 to i32 made of code, and its memory
// of 16 MiB; more functions, of either type, follow as 1, 2 and so on.
func one(code []byte, more ...fn) build {
	return build{
		types:   []signature{{}, {i32, i32}},
		funcs:   append([]fn{{typ: unary, locals: []uint32{4}, code: code}}, more...),
		memory:  &bounds{min: 256, max: 256, capped: true},
		exports: []exported{{"memory", externMemory, 0}, {"run", externFunction, 0}},
	}
}

// plain is the ABI the modules of build are made for.
var plain = ABI{Module: "host", Exports: []Export{{Name: "run", Params: 1, HasResult: true}}}

func newEngine(t testing.TB, s ABI) *Engine {
	t.Helper()
	return newEngineWith(t, Config{ABI: s})
}

// guestEngine returns an engine for the guest in testdata, which takes most of a second to
// compile and is kept.
func guestEngine(t testing.TB) *Engine {
	t.Helper()
	return newEngineWith(t, Config{ABI: guestABI(), CacheDir: testenv.CodeDir()})
}

func newEngineWith(t testing.TB, c Config) *Engine {
	t.Helper()
	e, err := NewEngine(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func start(t testing.TB, e *Engine, binary []byte) *Instance {
	t.Helper()
	m, err := e.Load(t.Context(), "test", binary)
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.Instantiate(t.Context(), InstanceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
	})
	return in
}

// meterModule returns the metered form of binary. Its calls may spend budget units of fuel.
// A binary that breaks the limits is a *Refusal under name.
func meterModule(name string, binary []byte, limits Limits, budget int64) ([]byte, error) {
	m, err := read(binary, limits.withDefaults())
	if err != nil {
		return nil, unreadable(name, err)
	}
	m.scanAll()
	m.refuseReservedNames()
	if err := m.findings.refusal(name); err != nil {
		return nil, err
	}
	return m.meter(budget), nil
}
