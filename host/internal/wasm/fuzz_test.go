package wasm

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// FuzzLook shows that no binary makes the reader panic or allocate much more than it
// has bytes, and that what it finds nothing wrong with has a metered form that is
// taken from the cache.
func FuzzLook(f *testing.F) {
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	f.Add(one(get(0)).bytes())
	f.Add(generate(bytes.Repeat([]byte{3, 1, 4, 1, 5, 9, 2, 6}, 40)).bytes())
	for _, h := range hogs() {
		f.Add(h.bytes())
	}
	for _, shape := range costly {
		f.Add(shape(20, 10).bytes())
	}
	f.Fuzz(func(t *testing.T, binary []byte) {
		if taken := allocates(func() { _, _, _ = Inspect(binary, plain) }); taken > uint64(1<<20+64*len(binary)) {
			t.Fatalf("looking at %d bytes allocates %d", len(binary), taken)
		}
		metered, err := meterModule("fuzz", binary, Limits{}, EventBudget)
		if err != nil {
			return
		}
		m, err := read(binary, defaultLimits)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.matches(metered); err != nil && !m.starts {
			t.Fatalf("the metered form is not taken: %v", err)
		}
	})
}

// generated is how many modules FuzzMeter makes when it is run as a test.
const generated = 150

// FuzzMeter runs generated modules three ways: as they are, metered, and with
// every instruction counted one by one.
func FuzzMeter(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range generated {
		seed := make([]byte, 50+random.IntN(600))
		for j := range seed {
			seed[j] = byte(random.Uint32())
		}
		f.Add(seed, uint16(random.Uint32()))
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2))
	f.Cleanup(func() { r.Close(ctx) })
	f.Fuzz(func(t *testing.T, data []byte, small uint16) {
		m := generate(data)
		original := m.bytes()
		metered, err := meterModule("fuzz", original, ample, 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		want, got := run(t, r, original, 0), run(t, r, metered, 0)
		if want.outcome != got.outcome || want.count != got.count || !bytes.Equal(want.memory, got.memory) {
			t.Fatalf("original: %v, metered: %v", want, got)
		}
		if !strings.HasPrefix(got.outcome, "trap") && got.depth != StackBudget {
			t.Fatalf("%d bytes of stack are left of %d", got.depth, StackBudget)
		}
		if counted := run(t, r, counting(t, m).bytes(), 0); got.used < counted.weight {
			t.Fatalf("charged %d units for %d", got.used, counted.weight)
		}
		briefly := run(t, r, metered, int64(small))
		if most := int64(small) + heaviest(t, original); briefly.used > most {
			t.Fatalf("used %d of a budget of %d, at most %d are accounted for", briefly.used, small, most)
		}
		if got.used <= int64(small) && briefly.outcome != got.outcome {
			t.Fatalf("needs %d of %d units, and says %s", got.used, small, briefly.outcome)
		}
	})
}

type ran struct {
	outcome      string
	count        uint64
	memory       []byte
	depth        int32
	used, weight int64
}

func (r ran) String() string { return fmt.Sprintf("%s after %d", r.outcome, r.count) }

// run calls run once, with the given budget when it is not zero.
func run(t *testing.T, r wazero.Runtime, binary []byte, budget int64) (x ran) {
	ctx := context.Background()
	code, err := r.CompileModule(ctx, binary)
	if err != nil {
		t.Fatalf("wazero refuses it: %v", err)
	}
	defer code.Close(ctx)
	m, err := r.InstantiateModule(ctx, code, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close(ctx)
	global := func(name string) api.Global { return m.ExportedGlobal(name) }
	if budget == 0 {
		budget = 1 << 40
	}
	if g := global(budgetGlobal); g != nil {
		g.(api.MutableGlobal).Set(uint64(budget))
	}
	results, err := m.ExportedFunction("run").Call(ctx, 77)
	if x.outcome = fmt.Sprint(results); err != nil {
		x.outcome = verdict(err)
	}
	x.count = global("count").Get()
	view, _ := m.Memory().Read(0, m.Memory().Size())
	x.memory = bytes.Clone(view)
	if g := global(fuelGlobal); g != nil {
		x.used, x.depth = budget-int64(g.Get()), int32(global(depthGlobal).Get())
	}
	if g := global("weight"); g != nil {
		x.weight = int64(g.Get())
	}
	return x
}

// counting is m with each instruction preceded by a count of its own weight.
// It shares the meter's reading of instructions, and nothing of its regions.
func counting(t *testing.T, m build) build {
	image, err := read(m.bytes(), ample.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	weight := uint32(m.globals)
	m.globals++
	m.exports = append(m.exports[:len(m.exports):len(m.exports)], exported{"weight", externGlobal, weight})
	m.funcs = append([]fn(nil), m.funcs...)
	for i := range m.funcs {
		s := &scan{m: image}
		s.begin(i)
		var out []byte
		for len(s.frames) > 0 && s.c.err == nil {
			r, at := s.top().region, s.c.at
			before := s.regions[r].weight
			s.step()
			if w := s.regions[r].weight - before; w > 0 {
				out = append(out, seq(opGlobalGet, int(weight), i64c(w), 0x7c, opGlobalSet, int(weight))...)
			}
			out = append(out, m.funcs[i].withEnd()[at:s.c.at]...)
		}
		m.funcs[i].code = out[:len(out)-1]
	}
	return m
}

func (f fn) withEnd() []byte { return append(f.code[:len(f.code):len(f.code)], opEnd) }

// heaviest is the most a module can be charged at once: its heaviest region,
// or its longest bulk operation with it.
func heaviest(t *testing.T, binary []byte) (most int64) {
	image, err := read(binary, ample.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	for s := range image.scans() {
		for _, r := range s.regions {
			most = max(most, r.weight)
		}
	}
	return most + 0x7fff
}
