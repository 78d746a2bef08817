package extism

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/host/internal/extism/speaker"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// speaks returns a plugin of the kind of these tests.
func speaks(m speaker.Module) []byte {
	m.Describe, m.Call, m.Manifest, m.Exit = "describe", "call", "kit", -1
	return m.Binary()
}

// config completes a configuration for the kind of these tests.
func config(c Config[string]) Config[string] {
	c.Kind, c.Describe, c.Call, c.Fuel, c.Time, c.MaxReply = "kit", "describe", "call", 1_000_000_000, 10*time.Second, 1<<10
	c.Manifest = func(b []byte) (*string, error) { s := string(b); return &s, nil }
	return c
}

func newEngine(t *testing.T, c Config[string]) *Engine[string] {
	t.Helper()
	c.CacheDir = testenv.CodeDir()
	e, err := NewEngine(config(c))
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

// TestLoadsAreOne loads one plugin from many places, of which some leave.
func TestLoadsAreOne(t *testing.T) {
	e := newEngine(t, Config[string]{})
	binary := speaks(speaker.Module{})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	plugins := make([]*Plugin[string], 20)
	var all sync.WaitGroup
	for i := range plugins {
		all.Go(func() {
			plugins[i], _ = e.Load(t.Context(), "corp", binary)
			if _, err := e.Load(gone, "left", binary); err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, p := range plugins {
		if p == nil || p != plugins[0] || p.Name() != "corp" {
			t.Fatalf("loaded %v and %v", p, plugins[0])
		}
	}
	if p, err := e.Load(t.Context(), "left", binary); err != nil || p == plugins[0] {
		t.Errorf("under another name: %v, %v", p, err)
	}
}

func TestAClosedEngine(t *testing.T) {
	e, err := NewEngine(config(Config[string]{}))
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.Load(t.Context(), "corp", speaks(speaker.Module{}))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	_, loaded := e.Load(t.Context(), "corp", speaks(speaker.Module{}))
	_, called := p.Call(t.Context(), "a", nil)
	if !errors.Is(loaded, ErrClosed) || !strings.Contains(loaded.Error(), "kit corp") || !errors.Is(called, ErrClosed) {
		t.Errorf("got %v and %v", loaded, called)
	}
}

// A plugin is given back when nothing refers to it any more: a host
// may see any number of versions of a plugin.
func TestAPluginThatNothingUsesIsGivenBack(t *testing.T) {
	e := newEngine(t, Config[string]{})
	load := func(version int) *Plugin[string] {
		p, err := e.Load(t.Context(), "corp", speaks(speaker.Module{Reply: strings.Repeat(" ", version)})) // which makes it another module
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	used := load(1)
	for version := range 4 {
		if _, err := load(2+version).Call(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
	}
	open := func() int {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.modules)
	}
	for deadline := time.Now().Add(10 * time.Second); open() > 1 && time.Now().Before(deadline); {
		runtime.GC()
	}
	if n := open(); n != 1 {
		t.Errorf("%d modules are open, want 1", n)
	}
	for range 2 * maxIdle {
		if _, err := used.Call(t.Context(), "a", nil); err != nil {
			t.Error(err)
		}
	}
}

// TestCallsAtATime are more than there are instances. A call that cannot wait for
// one leaves.
func TestCallsAtATime(t *testing.T) {
	e := newEngine(t, Config[string]{})
	p, err := e.Load(t.Context(), "corp", speaks(speaker.Module{}))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range maxCalls / 8 {
				if _, err := p.Call(t.Context(), "a", nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := len(p.idle); n > maxIdle {
		t.Errorf("%d instances are kept", n)
	}
	for range maxSeats {
		p.seats <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Call(ctx, "a", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for range maxSeats {
		<-p.seats
	}
}

// TestInstancesAreNotKeptForEver gives a plugin that frees nothing new memory.
func TestInstancesAreNotKeptForEver(t *testing.T) {
	e := newEngine(t, Config[string]{})
	p, err := e.Load(t.Context(), "corp", speaks(speaker.Module{}))
	if err != nil {
		t.Fatal(err)
	}
	first := p.idle[0]
	for range maxCalls {
		if _, err := p.Call(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range p.idle {
		if i == first {
			t.Error("the first instance is still there")
		}
	}
}

// TestPrinting is for the authors of plugins alone.
func TestPrinting(t *testing.T) {
	t.Setenv(loud, "1")
	e := newEngine(t, Config[string]{})
	if _, err := e.Load(t.Context(), "corp", speaks(speaker.Module{})); err == nil || !strings.Contains(err.Error(), "unset it") {
		t.Errorf("got %v", err)
	}
}

func TestACacheThatOthersCanWriteTo(t *testing.T) {
	if _, err := NewEngine(config(Config[string]{CacheDir: "engine_test.go"})); err == nil || !strings.Contains(err.Error(), "plugin cache") {
		t.Errorf("got %v", err)
	}
}

// TestACacheThatIsFull costs time, and a word for it.
func TestACacheThatIsFull(t *testing.T) {
	dir, heard := filepath.Join(t.TempDir(), "cache"), 0
	e, err := NewEngine(config(Config[string]{CacheDir: dir, Unkept: func(error) { heard++ }}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if err := os.RemoveAll(dir); err != nil { // not even root can write to it now
		t.Fatal(err)
	}
	for _, name := range []string{"corp", "other"} {
		if _, err := e.Load(t.Context(), name, speaks(speaker.Module{})); err != nil {
			t.Error(err)
		}
	}
	if heard != 1 {
		t.Errorf("heard of it %d times", heard)
	}
}

// TestIdleInstancesAreOfOneOwner and there are no more of them than that, however many
// owners there are.
func TestIdleInstancesAreOfOneOwner(t *testing.T) {
	e := newEngine(t, Config[string]{})
	p, err := e.Load(t.Context(), "corp", speaks(speaker.Module{}))
	if err != nil {
		t.Fatal(err)
	}
	owners := map[*instance]Owner{}
	all := make([]Owner, 3*maxIdle)
	for i := range all {
		all[i] = i
	}
	for range 2 {
		for n, owner := range all {
			for range 2 {
				if _, err := p.Call(t.Context(), owner, nil); err != nil {
					t.Fatal(err)
				}
				last := p.idle[len(p.idle)-1]
				if before := owners[last]; before != nil && before != owner {
					t.Fatalf("owner %d has got an instance of another", n)
				}
				owners[last] = owner
			}
			if len(p.idle) > maxIdle {
				t.Errorf("%d instances are idle", len(p.idle))
			}
		}
	}
	if want := 2 * len(all); len(owners) != want {
		t.Errorf("%d instances were started, want %d: two for each owner, whose turns are far apart", len(owners), want)
	}
	near := slices.Repeat(all[:maxIdle], 3)
	for _, owner := range near {
		if _, err := p.Call(t.Context(), owner, nil); err != nil {
			t.Fatal(err)
		}
		owners[p.idle[len(p.idle)-1]] = owner
	}
	if n := len(owners) - 2*len(all); n > maxIdle {
		t.Errorf("%d instances were started for %d all in turn", n, maxIdle)
	}
}

// TestTheKernelIsKeptBusy by a plugin that itself does next to nothing. It has the time
// of all others to describe itself, and less after that.
func TestTheKernelIsKeptBusy(t *testing.T) {
	e := newEngine(t, Config[string]{})
	raw := []byte{0x03, 0x40, 0x42, 1, 0x10, speaker.Alloc, 0x1a, 0x0c, 0, 0x0b, 0x41, 0, 0x0b}
	p, err := e.Load(t.Context(), "corp", speaks(speaker.Module{Raw: raw}))
	if err != nil {
		t.Fatal(err)
	}
	only := p.idle[0].plugin
	if only.Timeout != 10*time.Second {
		t.Errorf("it has %v for a call", only.Timeout)
	}
	only.Timeout = time.Second
	_, err = p.Call(t.Context(), "a", nil)
	if err == nil || !strings.Contains(err.Error(), "when its time was over") {
		t.Errorf("got %v", err)
	}
}
