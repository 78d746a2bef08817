package wasm

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// calling is an ABI whose only function, poke, does what the test says.
func calling(poke func(in *Instance, stack []uint64)) (ABI, build) {
	s := plain
	s.Imports = []HostFunc{{Name: "poke", Params: 1, HasResult: true, Price: 100, Func: poke}}
	b := one(seq(get(0), callTo(0)))
	b.imports = []imported{{"host", "poke", externFunction, unary}}
	b.exports[1].index = 1
	return s, b
}

func TestHostFunctions(t *testing.T) {
	owner := new(int)
	s, b := calling(func(in *Instance, stack []uint64) {
		if in.Owner() != owner {
			t.Error("a host function cannot find its owner")
		}
		stack[0] *= 2
	})
	m, err := newEngine(t, s).Load(t.Context(), "guest", b.bytes())
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.Instantiate(t.Context(), InstanceConfig{Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	f := in.Export("run")
	if got, err := f.Call(1000, 21); got != 42 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	if in.Used() < 100 {
		t.Errorf("used %d, the host call alone costs 100", in.Used())
	}
	if in.Export("none") != nil || in.Export("run") != f {
		t.Error("exports are not looked up once")
	}
	if _, err := f.Call(1000); err == nil || in.Dead() != nil {
		t.Errorf("a call without its argument says %v, %v", err, in.Dead())
	}
}

func TestHostFunctionsEndCalls(t *testing.T) {
	cause := errors.New("unknown handle")
	for name, c := range map[string]struct {
		poke func(in *Instance, stack []uint64)
		kind TrapKind
		says string
	}{
		"trap":   {func(in *Instance, _ []uint64) { in.Trap(cause) }, TrapHost, "unknown handle"},
		"charge": {func(in *Instance, _ []uint64) { in.Charge(1 << 60) }, TrapFuel, "budget"},
		"in pieces": {func(in *Instance, _ []uint64) {
			for {
				in.Charge(1000)
			}
		}, TrapFuel, "budget"},
		"bug": {func(*Instance, []uint64) { panic("our own bug") }, TrapOther, "our own bug"},
	} {
		t.Run(name, func(t *testing.T) {
			s, b := calling(c.poke)
			in := start(t, newEngine(t, s), b.bytes())
			stops(t, in, c.kind)
			if said := in.Dead().Error(); !strings.Contains(said, c.says) {
				t.Errorf("says %q", said)
			}
			if c.kind == TrapHost && !errors.Is(in.Dead(), cause) {
				t.Error("the cause is lost")
			}
		})
	}
}

// TestCloseDuringCall would end the process with a fault if Close did not wait.
func TestCloseDuringCall(t *testing.T) {
	s, b := calling(func(in *Instance, stack []uint64) {
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		if _, err := in.Export("run").Call(1000, 1); err == nil {
			t.Error("a call inside of a call went through")
		}
		view, ok := in.Memory(0, 16<<20)
		if !ok {
			t.Error("the memory is gone")
		}
		clear(view)
	})
	in := start(t, newEngine(t, s), b.bytes())
	if _, err := in.Export("run").Call(1000, 1); err != nil {
		t.Error(err)
	}
	if _, err := in.Export("run").Call(1000, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("a call after Close says %v", err)
	}
}

func TestEngineClosesAfterItsInstances(t *testing.T) {
	e, err := NewEngine(t.Context(), Config{ABI: plain})
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Load(t.Context(), "guest", one(get(0)).bytes())
	if err != nil {
		t.Fatal(err)
	}
	in, err := m.Instantiate(t.Context(), InstanceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := in.Export("run").Call(1000, 7); got != 7 || err != nil {
		t.Errorf("an instance that outlives its engine says %d, %v", got, err)
	}
	if _, err := m.Instantiate(t.Context(), InstanceConfig{}); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed engine instantiates: %v", err)
	}
	if _, err := e.Load(t.Context(), "guest", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed engine loads: %v", err)
	}
	for range 2 {
		if err := errors.Join(in.Close(), e.Close()); err != nil {
			t.Error(err)
		}
	}
	if e.runtime != nil {
		t.Error("the runtime is still there")
	}
}

func TestInstantiateLeavesAtDeadline(t *testing.T) {
	m, err := newEngine(t, guestABI()).Load(t.Context(), "guest", guestBinary(t)) // what is compiling is waited for
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Instantiate(ctx, InstanceConfig{}); !errors.Is(err, context.Canceled) {
		t.Errorf("says %v", err)
	}
	in, err := m.Instantiate(t.Context(), InstanceConfig{})
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
}

// TestInvalidModulesAreRefusedByCompiling shows the part of the checking that is
// wazero's: types. Its verdict is not kept, so that a passing fault may pass.
func TestInvalidModulesAreRefusedByCompiling(t *testing.T) {
	e := newEngine(t, plain)
	for range 2 {
		m, err := e.Load(t.Context(), "guest", one(i64c(1)).bytes())
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Compile(t.Context()); err == nil || !strings.Contains(err.Error(), "guest: compile: ") {
			t.Errorf("says %v", err)
		}
		if e.programs[m.Hash()] != nil {
			t.Error("the failure is kept")
		}
	}
}

func TestInstancesInParallel(t *testing.T) {
	e := newEngine(t, plain)
	binary := one(seq(get(0), i32c(1), 0x6a)).bytes()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			m, err := e.Load(context.Background(), "guest", binary)
			if err != nil {
				t.Error(err)
				return
			}
			for range 20 {
				in, err := m.Instantiate(context.Background(), InstanceConfig{})
				if err != nil {
					t.Error(err)
					return
				}
				works(t, in)
				if err := in.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestMemoryTooLargeForInstance(t *testing.T) {
	m, err := newEngine(t, plain).Load(t.Context(), "guest", one(get(0)).bytes())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Instantiate(t.Context(), InstanceConfig{MemoryPages: 255}); err == nil || !strings.Contains(err.Error(), "starts with 256 pages") {
		t.Errorf("says %v", err)
	}
}

// TestInitializeHasItsOwnBudget and dies by it.
func TestInitializeHasItsOwnBudget(t *testing.T) {
	b := one(get(0), fn{typ: nullary, code: forever()})
	b.exports = append(b.exports, exported{initialize, externFunction, 1})
	m, err := newEngine(t, plain).Load(t.Context(), "guest", b.bytes())
	if err != nil {
		t.Fatal(err)
	}
	var trap *Trap
	if _, err := m.Instantiate(t.Context(), InstanceConfig{}); !errors.As(err, &trap) || trap.Kind != TrapFuel {
		t.Errorf("says %v", err)
	}
}

func TestCacheDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	binary := one(seq(get(0), i32c(1), 0x6a)).bytes()
	load := func() *Instance {
		e, err := NewEngine(t.Context(), Config{ABI: plain, CacheDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { e.Close() })
		return start(t, e, binary)
	}
	works(t, load())
	entries, _ := filepath.Glob(filepath.Join(dir, "metered", "*.wasm"))
	if len(entries) != 1 {
		t.Fatalf("kept %v", entries)
	}
	kept, err := os.ReadFile(entries[0])
	if err != nil {
		t.Fatal(err)
	}
	works(t, load())

	for name, damaged := range map[string][]byte{
		"empty": nil, "cut": kept[:40], "changed": append(bytes.Clone(kept[:len(kept)-3]), 1, 2, 3),
	} {
		if err := os.WriteFile(entries[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		works(t, load())
		if again, _ := os.ReadFile(entries[0]); !bytes.Equal(again, kept) {
			t.Errorf("%s: the entry was not made again", name)
		}
	}
}

func TestCacheDirMustBeOurs(t *testing.T) {
	open := func(dir string) error {
		e, err := NewEngine(t.Context(), Config{CacheDir: dir})
		if err == nil {
			err = e.Close()
		}
		return err
	}
	shared := filepath.Join(t.TempDir(), "shared")
	if err := errors.Join(os.Mkdir(shared, 0o700), os.Chmod(shared, 0o770)); err != nil {
		t.Fatal(err)
	}
	link, file := filepath.Join(t.TempDir(), "link"), filepath.Join(t.TempDir(), "file")
	if err := errors.Join(os.Symlink(t.TempDir(), link), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Skip(err)
	}
	inner := t.TempDir()
	if err := errors.Join(os.Chmod(inner, 0o700), os.Mkdir(filepath.Join(inner, "native"), 0o700), os.Chmod(filepath.Join(inner, "native"), 0o722)); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		shared: "can be written by others", inner: "can be written by others", link: "is not a folder", file: "is not a folder",
	} {
		if err := open(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: says %v, want %q", dir, err, want)
		}
	}
}

func TestCallAllocatesNothing(t *testing.T) {
	s, b := calling(func(in *Instance, stack []uint64) { in.Charge(1) })
	in := start(t, newEngine(t, s), b.bytes())
	f := in.Export("run")
	if n := testing.AllocsPerRun(100, func() { _, _ = f.Call(EventBudget, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// An instance that rests has no stack, and does not miss it.
func TestRestGivesTheStackBack(t *testing.T) {
	in := start(t, newEngine(t, plain), one(get(0)).bytes())
	f := in.Export("run")
	for n := range uint32(3) {
		if err := in.Rest(); err != nil || f.native != nil {
			t.Fatalf("it rests with a stack, %v", err)
		}
		if got, err := f.Call(EventBudget, n); got != n || err != nil {
			t.Errorf("%d, %v; want %d", got, err, n)
		}
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = f.Call(EventBudget, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCall(b *testing.B) {
	bench := func(name string, s ABI, m build) {
		b.Run(name, func(b *testing.B) {
			f := start(b, newEngine(b, s), m.bytes()).Export("run")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := f.Call(EventBudget, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	bench("empty", plain, one(get(0)))
	s, m := calling(func(*Instance, []uint64) {})
	bench("one host call", s, m)
}

func BenchmarkLoad(b *testing.B) {
	binary := guestBinary(b)
	bench := func(name string, dir func() string) {
		b.Run(name, func(b *testing.B) {
			var load, compile, instantiate float64
			for b.Loop() {
				b.StopTimer()
				e, err := NewEngine(b.Context(), Config{ABI: guestABI(), CacheDir: dir()})
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				at := b.Elapsed()
				lap := func() float64 { d := b.Elapsed() - at; at += d; return float64(d) / 1e6 }
				m, err := e.Load(b.Context(), "guest", binary)
				if err != nil {
					b.Fatal(err)
				}
				load += lap()
				if err := m.Compile(b.Context()); err != nil {
					b.Fatal(err)
				}
				compile += lap()
				in, err := m.Instantiate(b.Context(), InstanceConfig{})
				if err != nil {
					b.Fatal(err)
				}
				instantiate += lap()
				b.StopTimer()
				in.Close()
				e.Close()
				b.StartTimer()
			}
			b.ReportMetric(load/float64(b.N), "load-ms")
			b.ReportMetric(compile/float64(b.N), "compile-ms")
			b.ReportMetric(instantiate/float64(b.N), "instantiate-ms")
		})
	}
	warm := filepath.Join(b.TempDir(), "cache")
	e, err := NewEngine(b.Context(), Config{ABI: guestABI(), CacheDir: warm})
	if err != nil {
		b.Fatal(err)
	}
	start(b, e, binary).Close()
	e.Close()
	bench("cold", func() string { return "" })
	bench("warm", func() string { return warm })
}
