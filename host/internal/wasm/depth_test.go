package wasm

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
)

// frames are functions that call themselves, in shapes that make wazero's
// frames small and large. Each counts its depth in global 0.
func frames() map[string]build {
	const add = 0x6a
	count := seq(opGlobalGet, 0, i64c(1), 0x7c, opGlobalSet, 0)
	self := func(b build) build {
		b.globals = 1
		b.exports = append(b.exports, exported{"depth", externGlobal, 0})
		return b
	}
	tall := func(n int) []byte { // n values live across the call
		code := count
		for range n {
			code = append(code, seq(get(0), 0x28, 2, 0)...)
		}
		code = append(code, seq(get(0), callTo(0))...)
		for range n {
			code = append(code, add)
		}
		return code
	}
	chain := func(n int) []byte { // each result lives until the end
		code := count
		for i := range n {
			code = append(code, seq(get(0), callTo(0), set(1+uint32(i)%4))...)
		}
		for i := range 4 {
			code = append(code, seq(get(1+uint32(i)))...)
		}
		return append(code, add, add, add)
	}
	long := func(n int) []byte { // many calls, each with one more value on the stack
		code := count
		for range n {
			code = append(code, seq(get(0), callTo(0))...)
		}
		for range n - 1 {
			code = append(code, add)
		}
		return code
	}
	merged := func(n int) []byte { // locals that differ by way, at many joins
		code := count
		for i := range n {
			l := 1 + uint32(i)%4
			code = append(code, seq(get(0), i32c(int32(i)), 0x71, 0x04, blockEmpty, get(0), i32c(7), add, set(l), opEnd, get(l), callTo(0), 0x1a)...)
		}
		return append(code, get(1)...)
	}
	return map[string]build{
		"bare":      self(one(seq(count, get(0), callTo(0)))),
		"tall 10":   self(one(tall(10))),
		"tall 1000": self(one(tall(1000))),
		"chain":     self(one(chain(1000))),
		"long":      self(one(long(1000))),
		"merged":    self(one(merged(500))),
	}
}

// TestFramesAreEstimatedFromAbove recurses without the meter until wazero has
// no more than its 50 MB of stack, and holds what a frame took of them against
// the estimate that the meter charges.
func TestFramesAreEstimatedFromAbove(t *testing.T) {
	const ceiling = 84 << 20 // what 10 KiB grow to when the last doubling starts under 50 MB
	ctx := context.Background()
	for name, b := range frames() {
		t.Run(name, func(t *testing.T) {
			r := wazero.NewRuntime(ctx)
			defer r.Close(ctx)
			binary := b.bytes()
			m, err := r.InstantiateWithConfig(ctx, binary, wazero.NewModuleConfig().WithName(""))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.ExportedFunction("run").Call(ctx, 0); err == nil {
				t.Fatal("the recursion ended")
			}
			depth := int64(m.ExportedGlobal("depth").Get())
			image, err := read(binary, Limits{}.withDefaults())
			if err != nil {
				t.Fatal(err)
			}
			estimate := scanned(t, image, 0).shape.bytes()
			t.Logf("%d frames, at most %d bytes each, estimated %d", depth, ceiling/depth, estimate)
			if estimate < ceiling/depth {
				t.Errorf("a frame takes up to %d bytes, estimated %d", ceiling/depth, estimate)
			}
		})
	}
}

// scanned reads one body.
func scanned(t *testing.T, m *image, i int) *scan {
	t.Helper()
	s := &scan{m: m}
	s.begin(i)
	if err := s.finish(); err != nil {
		t.Fatal(err)
	}
	return s
}
