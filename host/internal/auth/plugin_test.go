package auth

import (
	"context"
	"encoding/json"
	"errors"
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
	e := newEngine(t, EngineConfig{})
	p, err := e.Load(t.Context(), "corp", guestBinary(t))
	if err != nil {
		t.Fatal(err)
	}
	for do, want := range map[string]string{
		"panic": "gave up", "loop": "budget", "grow": "gave up", "recurse": "gave up",
		"leave": "it left in the middle", "exit": "exited with code 3", "speak": "there may be",
	} {
		t.Run(do, func(t *testing.T) {
			_, err := p.Step(t.Context(), start(do))
			var known *Error
			if !errors.As(err, &known) || known.Provider != "corp" || known.Class != Broken || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
			t.Log(err)
			reply, err := p.Step(t.Context(), start(""))
			if err != nil || len(reply.Actions) != 1 || reply.Actions[0].Kind != step.ActionLoad {
				t.Errorf("the next step: %+v, %v", reply, err)
			}
		})
	}
}

func BenchmarkStep(b *testing.B) {
	e := newEngine(b, EngineConfig{})
	p, err := e.Load(b.Context(), "corp", guestBinary(b))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Step(context.Background(), start("")); err != nil {
			b.Fatal(err)
		}
	}
}
