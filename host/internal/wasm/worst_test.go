package wasm

import "testing"

// hogs are guests that spend a budget in the slowest way we know.
func hogs() map[string]build {
	const add = 0x6a
	load := func(op byte) []byte { return []byte{op, 2, 0} }
	loads := func(n int) (code []byte) {
		for range n {
			code = append(code, load(0x28)...)
		}
		return code
	}
	repeat := func(n int, parts ...any) (code []byte) {
		for range n {
			code = append(code, seq(parts...)...)
		}
		return code
	}
	// Each word of memory holds the address of another: a walk over all 16 MiB in
	// no order a prefetcher knows. prepare writes the words.
	prepare := seq(opLoop, blockEmpty,
		get(1), i32c(2), 0x74, get(1), i32c(1664525), 0x6c, i32c(1013904223), add, i32c(1<<22-1), 0x71, i32c(2), 0x74, 0x36, 2, 0,
		get(1), i32c(1), add, 0x22, 1, i32c(1<<22), 0x49, 0x0d, 0, opEnd, get(0))
	chase := one(seq(forever(get(0), loads(1000), set(0)), get(0)), fn{typ: unary, locals: []uint32{1}, code: prepare})
	chase.exports = append(chase.exports, exported{"prepare", externFunction, 1})
	misc := func(op byte, tail ...byte) []byte { return append([]byte{opMiscPrefix, op}, tail...) }
	table := func(b build) build {
		b.tables = []bounds{{min: 4, max: 64 << 10, capped: true}}
		b.elems = []uint32{1, 2, 3}
		return b
	}
	leaf := fn{typ: unary, code: get(0)}
	h := map[string]build{
		"spin":         one(seq(forever(), get(0))),
		"add":          one(seq(forever(repeat(1000, get(0), i32c(3), add, set(0))), get(0))),
		"div":          one(seq(forever(repeat(500, i64c(0x7fffffffffffff), get(0), 0xac, i64c(3), 0x84, 0x7f, 0xa7, set(0))), get(0))),
		"rem32":        one(seq(forever(repeat(500, i32c(0x7fffffff), get(0), i32c(3), 0x72, 0x70, set(0))), get(0))),
		"sqrt":         one(seq(forever(repeat(500, get(0), 0xb7, 0x9f, 0xab, set(0))), get(0))),
		"fdiv":         one(seq(forever(repeat(500, get(0), 0xb7, get(0), 0xb7, 0xa3, 0xfc, 2, set(0))), get(0))),
		"popcnt":       one(seq(forever(repeat(500, get(0), 0x69, set(0))), get(0))),
		"nearest":      one(seq(forever(repeat(500, get(0), 0xb7, 0x9e, 0x9e, 0xfc, 2, set(0))), get(0))),
		"chase":        chase,
		"fill 1M":      one(seq(forever(i32c(0), i32c(1), i32c(1<<20), misc(0x0b, 0)), get(0))),
		"fill 16M":     one(seq(forever(i32c(0), i32c(1), i32c(16<<20), misc(0x0b, 0)), get(0))),
		"fill 1":       one(seq(forever(repeat(100, i32c(0), i32c(1), i32c(1), misc(0x0b, 0))), get(0))),
		"fill 0":       one(seq(forever(repeat(100, i32c(0), i32c(1), i32c(0), misc(0x0b, 0))), get(0))),
		"fill 33":      one(seq(forever(repeat(100, i32c(0), i32c(1), i32c(33), misc(0x0b, 0))), get(0))),
		"copy 8M":      one(seq(forever(i32c(0), i32c(8<<20), i32c(8<<20), misc(0x0a, 0, 0)), get(0))),
		"copy 7":       one(seq(forever(repeat(100, i32c(0), i32c(1<<20), i32c(7), misc(0x0a, 0, 0))), get(0))),
		"grow 0":       one(seq(forever(repeat(100, i32c(0), 0x40, 0, 0x1a)), get(0))),
		"exponential":  doubling(60),
		"table.grow":   table(one(seq(forever(repeat(100, 0xd0, typeFunc, i32c(1), misc(0x0f, 0), 0x1a)), get(0)), leaf, leaf, leaf)),
		"table.fill":   table(one(seq(0xd0, typeFunc, i32c(60000), misc(0x0f, 0), 0x1a, forever(i32c(0), 0xd0, typeFunc, i32c(60000), misc(0x11, 0)), get(0)), leaf, leaf, leaf)),
		"table.fill 1": table(one(seq(forever(repeat(100, i32c(0), 0xd0, typeFunc, i32c(1), misc(0x11, 0))), get(0)), leaf, leaf, leaf)),
		"table.copy":   table(one(seq(0xd0, typeFunc, i32c(60000), misc(0x0f, 0), 0x1a, forever(i32c(0), i32c(100), i32c(59000), misc(0x0e, 0, 0)), get(0)), leaf, leaf, leaf)),
		"ref.func":     table(one(seq(forever(repeat(100, opRefFunc, 1, 0x1a)), get(0)), leaf, leaf, leaf)),
		"indirect":     table(one(seq(forever(repeat(100, get(0), get(0), i32c(1), 0x71, 0x11, 1, 0, set(0))), get(0)), leaf, leaf, leaf)),
		"ring": table(one(seq(forever(get(0), i32c(0), 0x11, 1, 0, set(0)), get(0)),
			fn{typ: unary, code: seq(get(0), get(0), i32c(3), 0x71, 0x04, 0x7f, get(0), i32c(1), 0x6a, i32c(1), 0x11, 1, 0, 0x05, get(0), 0x0b, 0x1a)},
			fn{typ: unary, code: seq(get(0), i32c(2), 0x11, 1, 0)}, leaf)),
		"call": one(seq(forever(repeat(100, get(0), callTo(1), set(0))), get(0)), leaf),
		// Stores all over memory, in the cheapest disorder.
		"scatter": one(seq(forever(repeat(100,
			get(1), i32c(1664525), 0x6c, i32c(1013904223), add, set(1),
			get(1), i32c(8), 0x76, get(1), 0x36, 2, 0)), get(0))),
		"scatter walk": one(seq(forever(repeat(100,
			get(1), i32c(4099*4), add, i32c(16<<20-1), 0x71, 0x22, 1, get(1), 0x36, 2, 0)), get(0))),
		// mispredicted: xorshift, branch on a bit
		"mispredict": one(seq(i32c(88172645), set(1), forever(repeat(100,
			get(1), get(1), i32c(13), 0x74, 0x73, 0x22, 1, get(1), i32c(17), 0x76, 0x73, 0x22, 1, get(1), i32c(5), 0x74, 0x73, 0x22, 1,
			i32c(1), 0x71, 0x04, blockEmpty, get(2), i32c(1), 0x6a, set(2), 0x05, get(3), i32c(1), 0x6a, set(3), 0x0b)), get(2), get(3), 0x6a)),
	}
	return h
}

func BenchmarkWorst(b *testing.B) {
	for name, hog := range hogs() {
		b.Run(name, func(b *testing.B) {
			e := newEngine(b, plain)
			var units int64
			for b.Loop() {
				b.StopTimer()
				in := start(b, e, hog.bytes())
				if f := in.Export("prepare"); f != nil {
					if _, err := f.Call(1<<40, 0); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
				_, err := in.Export("run").Call(EventBudget, 0)
				if t, ok := err.(*Trap); !ok || t.Kind != TrapFuel {
					b.Fatal(err)
				}
				units += in.Used()
				in.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(units), "ns/unit")
		})
	}
}

// doubling is a tree of calls without a loop: each function calls the next one
// twice, the last returns.
func doubling(levels uint32) build {
	b := one(seq(get(0), callTo(1)))
	for f := range levels {
		b.funcs = append(b.funcs, fn{typ: unary, code: seq(get(0), callTo(f+2), callTo(f+2))})
	}
	b.funcs = append(b.funcs, fn{typ: unary, code: get(0)})
	return b
}
