package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
)

func start(do string) *step.Call {
	settings, _ := json.Marshal(map[string]string{"do": do})
	return &step.Call{Event: step.Event{Kind: step.EventStart, Entropy: make([]byte, 32), Start: &step.Start{
		Reason: step.ReasonExpired, Settings: settings, Server: step.Server{Name: "srv", Resource: "https://mcp.example/mcp"},
	}}}
}

// TestHostileGuests shows that whatever a step does, it ends in an error that
// names the provider, and that the next step is none the wiser.
func TestHostileGuests(t *testing.T) {
	e := newEngine(t, brief)
	p, err := e.Load(t.Context(), "corp", guestBinary(t))
	if err != nil {
		t.Fatal(err)
	}
	account := ForAccount(p)
	for do, want := range map[string]string{
		"panic": "gave up", "loop": "budget", "grow": "gave up", "recurse": "gave up",
		"leave": "it left in the middle", "exit": "exited with code 3",
	} {
		t.Run(do, func(t *testing.T) {
			_, err := account.Step(t.Context(), start(do))
			var known *Error
			if !errors.As(err, &known) || known.Provider != "corp" || known.Class != Broken || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			t.Log(err)
			reply, err := account.Step(t.Context(), start(""))
			if err != nil || len(reply.Actions) != 1 || reply.Actions[0].Kind != step.ActionLoad {
				t.Errorf("the next step: %+v, %v", reply, err)
			}
		})
	}
}

// BenchmarkStep is a step of a provider in Go, with no state and with one that is
// as large as half of what may be.
func BenchmarkStep(b *testing.B) {
	e := newEngine(b, Fuel)
	p, err := e.Load(b.Context(), "corp", guestBinary(b))
	if err != nil {
		b.Fatal(err)
	}
	first := start("")
	second := &step.Call{Event: step.Event{Kind: step.EventLoaded, Entropy: make([]byte, 32), Record: &step.Record{Value: []byte(`"x"`)}}}
	account := ForAccount(p)
	reply, err := account.Step(b.Context(), first)
	if err != nil {
		b.Fatal(err)
	}
	second.State = reply.State
	calls := map[string]*step.Call{"first": first, "second": second}
	for _, size := range []int{16, 64, 256} {
		large := *first
		large.Event.Start = &step.Start{Settings: []byte(`{"x":"` + strings.Repeat("x", size<<10) + `"}`)}
		calls[fmt.Sprintf("%dKiB", size)] = &large
	}
	for name, call := range calls {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := account.Step(context.Background(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkInstance is what a fresh instance costs, with a step.
func BenchmarkInstance(b *testing.B) {
	e := newEngine(b, Fuel)
	p, err := e.Load(b.Context(), "corp", guestBinary(b))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ForAccount(p).Step(b.Context(), start("")); err != nil {
			b.Fatal(err)
		}
	}
}

// TestLargeCalls are refused before anything is called.
func TestLargeCalls(t *testing.T) {
	call := start("")
	call.Event.Start.Settings = []byte(`"` + strings.Repeat("x", step.MaxCall) + `"`)
	p, err := newEngine(t, Fuel).Load(t.Context(), "corp", saying{manifest: honest(), exit: -1}.module())
	if err != nil {
		t.Fatal(err)
	}
	_, err = ForAccount(p).Step(t.Context(), call)
	wantError(t, err, Broken, "there may be 1048576")
}

// BenchmarkLoad is what a command pays that needs a provider: with nothing in the
// cache, and with all of it.
func BenchmarkLoad(b *testing.B) {
	for _, warm := range []bool{false, true} {
		b.Run(map[bool]string{false: "cold", true: "warm"}[warm], func(b *testing.B) {
			dir := b.TempDir()
			load := func() {
				e, err := NewEngine(EngineConfig{CacheDir: dir})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := e.Load(b.Context(), "corp", guestBinary(b)); err != nil {
					b.Fatal(err)
				}
				if err := e.Close(); err != nil {
					b.Fatal(err)
				}
			}
			load()
			for b.Loop() {
				if !warm {
					dir = b.TempDir()
				}
				load()
			}
		})
	}
}
