package wasm

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

// TestExecutingKeepsNothing runs every hog for ten events' worth of fuel and reads
// the heap while the instance is alive: an instruction may not leave something in
// the host each time that it is executed.
func TestExecutingKeepsNothing(t *testing.T) {
	for name, hog := range testenv.Part(hogs(), 3) {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, plain)
			in := start(t, e, hog.bytes())
			run := in.Export("run")
			before := heapInUse()
			if _, err := run.Call(10*EventBudget, 0); err == nil {
				t.Fatal("the hog has come to an end")
			}
			kept := heapInUse() - before
			runtime.KeepAlive(in)
			t.Logf("%d bytes kept, %.3f a unit", kept, float64(kept)/(10*EventBudget))
			if kept > int64(MaxHeld()) {
				t.Errorf("%d bytes are kept after %d units, want at most %d", kept, in.Used(), MaxHeld())
			}
		})
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A function that code refers to takes a place among the globals of the instance.
func TestReferencesAreBounded(t *testing.T) {
	guest := one(seq(opRefFunc, 1, 0x1a, opRefFunc, 2, 0x1a, opRefFunc, 1, 0x1a, get(0)), fn{}, fn{})
	guest.tables, guest.elems = []bounds{{min: 2}}, []uint32{1, 2}
	if _, err := meterModule("guest", guest.bytes(), Limits{Globals: 2}, 1); err != nil {
		t.Error(err)
	}
	_, err := meterModule("guest", guest.bytes(), Limits{Globals: 1}, 1)
	if err == nil || !strings.Contains(err.Error(), "globals and functions that code refers to: wanted at most 1, found 2") {
		t.Errorf("two references where one is allowed: %v", err)
	}
}

// TestHeldIsAllThereIs makes a module that is at each limit, grows its tables and its
// stack, and reads the heap.
func TestHeldIsAllThereIs(t *testing.T) {
	l := defaultLimits
	const functions, segments = 1_000, 10
	recurse, grow := uint32(1), uint32(2)
	guest := one(seq(get(0)), fn{typ: unary, code: seq(get(0), callTo(recurse))})
	guest.exports = append(guest.exports, exported{"recurse", externFunction, recurse}, exported{"grow", externFunction, grow})
	var growth, refer []byte
	for n := range l.Tables {
		begins := uint32(1)
		if n == 0 {
			begins = l.Table / 2
		}
		guest.tables = append(guest.tables, bounds{min: begins})
		growth = append(growth, seq(0xd0, typeFunc, i32c(1), opMiscPrefix, 0x0f, appendU32(nil, uint32(n)), 0x1a)...)
	}
	guest.funcs = append(guest.funcs, fn{typ: unary, code: seq(opLoop, blockEmpty, growth, get(0), i32c(1), opI32Sub, opLocalTee, 0, opBrIf, 0, opEnd, get(0))})
	for n := range functions {
		guest.funcs = append(guest.funcs, fn{typ: nullary})
		refer = append(refer, seq(opRefFunc, appendU32(nil, uint32(n+3)), 0x1a)...)
	}
	guest.funcs[0].code = seq(refer, get(0))
	guest.globals = l.Globals - functions
	entries := func(n int) (list []byte) {
		list = appendU32(nil, uint32(n))
		for k := range n {
			list = appendU32(list, uint32(k%functions+3))
		}
		return list
	}
	elements := seq(0, opI32Const, 0, opEnd, entries(l.Entries/2))
	for range segments {
		elements = append(elements, seq(1, 0, entries(l.Entries/2/segments))...)
	}
	guest.raw = map[byte][]byte{
		sectionElement: announcing(segments+1, elements),
		sectionData:    announcing(uint32(l.Segments-segments-1), bytes.Repeat([]byte{1, 0}, l.Segments-segments-1)),
	}

	e := newEngine(t, plain)
	m, err := e.Load(t.Context(), "guest", guest.bytes())
	if err != nil {
		t.Fatal(err)
	}
	first, err := m.Instantiate(t.Context(), InstanceConfig{}) // which has the module compiled
	if err != nil {
		t.Fatal(err)
	}
	first.Close()
	before := heapInUse()
	in, err := m.Instantiate(t.Context(), InstanceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := in.Export("grow").Call(1<<40, 2*l.Table); err != nil {
		t.Fatal(err)
	}
	if _, err := in.Export("recurse").Call(1<<40, 0); in.Dead() == nil || in.Dead().Kind != TrapDepth {
		t.Fatal(err)
	}
	held := heapInUse() - before
	runtime.KeepAlive(in)
	t.Logf("%d bytes are held, %d may be", held, MaxHeld())
	if held > int64(MaxHeld()) || held < int64(MaxHeld())/2 {
		t.Errorf("%d bytes are held, where MaxHeld says %d", held, MaxHeld())
	}
}

// An auth provider has four hundred times the fuel of an event, in a runtime that is
// not the Engine's, with a form that the same meter wrote.
func TestProvidersKeepNoReferences(t *testing.T) {
	guest := hogs()["ref.func"]
	binary, err := meterModule("provider", guest.bytes(), Limits{}, 20*EventBudget)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2))
	defer r.Close(ctx)
	in, err := r.Instantiate(ctx, binary)
	if err != nil {
		t.Fatal(err)
	}
	before := heapInUse()
	if _, err := in.ExportedFunction("run").Call(ctx, 0); err == nil {
		t.Fatal("the loop has come to an end")
	}
	kept := heapInUse() - before
	runtime.KeepAlive(in)
	if kept > 1<<20 {
		t.Errorf("%d bytes are kept of %d units", kept, 20*EventBudget)
	}
}
