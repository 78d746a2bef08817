package auth

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
)

var modest = speaker{reply: `{"actions":[{"kind":"done"}]}`, exit: -1}

// TestLoadsAreOne loads one provider from many places, of which some leave.
func TestLoadsAreOne(t *testing.T) {
	e := newEngine(t, Fuel)
	m := modest
	m.manifest = honest()
	binary := m.module()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	plugins := make([]*Plugin, 20)
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
	e, err := NewEngine(EngineConfig{})
	if err != nil {
		t.Fatal(err)
	}
	m := modest
	m.manifest = honest()
	p, err := e.Load(t.Context(), "corp", m.module())
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	_, loaded := e.Load(t.Context(), "corp", m.module())
	_, stepped := p.ForAccount().Step(t.Context(), start(""))
	for _, err := range []error{loaded, stepped} {
		if !errors.Is(err, errClosed) || !strings.Contains(err.Error(), "corp") {
			t.Errorf("got %v", err)
		}
	}
}

// A plugin is given back when nothing refers to it or to a provider of it any more: a host
// may see any number of versions of a plugin.
func TestAPluginThatNothingUsesIsGivenBack(t *testing.T) {
	e := newEngine(t, Fuel)
	load := func(version int) *Plugin {
		m := modest
		m.manifest = honest() + strings.Repeat(" ", version) // which makes it another module
		p, err := e.Load(t.Context(), "corp", m.module())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	used := load(1).ForAccount()
	for version := range 4 {
		if _, err := load(2+version).ForAccount().Step(t.Context(), start("")); err != nil {
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
		if _, err := used.Step(t.Context(), start("")); err != nil {
			t.Error(err)
		}
	}
}

// TestStepsAtATime are more than there are instances. A step that cannot wait for
// one leaves.
func TestStepsAtATime(t *testing.T) {
	e := newEngine(t, Fuel)
	m := modest
	m.manifest = honest()
	p, err := e.Load(t.Context(), "corp", m.module())
	if err != nil {
		t.Fatal(err)
	}
	account := p.ForAccount()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for range maxCalls / 8 {
				if _, err := account.Step(t.Context(), start("")); err != nil {
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
	if _, err := account.Step(ctx, start("")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for range maxSeats {
		<-p.seats
	}
}

// TestInstancesAreNotKeptForEver gives a provider that frees nothing new memory.
func TestInstancesAreNotKeptForEver(t *testing.T) {
	e := newEngine(t, Fuel)
	m := modest
	m.manifest = honest()
	p, err := e.Load(t.Context(), "corp", m.module())
	if err != nil {
		t.Fatal(err)
	}
	first, account := p.idle[0], p.ForAccount()
	for range maxCalls {
		if _, err := account.Step(t.Context(), start("")); err != nil {
			t.Fatal(err)
		}
	}
	for _, i := range p.idle {
		if i == first {
			t.Error("the first instance is still there")
		}
	}
}

// TestLargeCalls are refused before anything is called.
func TestLargeCalls(t *testing.T) {
	call := start("")
	call.Event.Start.Settings = []byte(`"` + strings.Repeat("x", step.MaxCall) + `"`)
	_, err := (&Plugin{&module{name: "corp"}}).ForAccount().Step(t.Context(), call)
	wantError(t, err, Broken, "there may be 1048576")
}

// TestPrinting is for the authors of providers alone.
func TestPrinting(t *testing.T) {
	t.Setenv(loud, "1")
	e := newEngine(t, Fuel)
	m := modest
	m.manifest = honest()
	if _, err := e.Load(t.Context(), "corp", m.module()); err == nil || !strings.Contains(err.Error(), "unset it") {
		t.Errorf("got %v", err)
	}
}

func TestACacheThatOthersCanWriteTo(t *testing.T) {
	if _, err := NewEngine(EngineConfig{CacheDir: "engine_test.go"}); err == nil || !strings.Contains(err.Error(), "plugin cache") {
		t.Errorf("got %v", err)
	}
}

// TestACacheThatIsFull costs time, and a word for it.
func TestACacheThatIsFull(t *testing.T) {
	dir, heard := filepath.Join(t.TempDir(), "cache"), 0
	e, err := NewEngine(EngineConfig{CacheDir: dir, Unkept: func(error) { heard++ }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	if err := os.RemoveAll(dir); err != nil { // not even root can write to it now
		t.Fatal(err)
	}
	m := modest
	m.manifest = honest()
	for _, name := range []string{"corp", "other"} {
		if _, err := e.Load(t.Context(), name, m.module()); err != nil {
			t.Error(err)
		}
	}
	if heard != 1 {
		t.Errorf("heard of it %d times", heard)
	}
}
