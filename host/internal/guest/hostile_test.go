package guest

import (
	"context"
	"errors"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
)

// hostileModes are how a guest misbehaves, and what stops it.
var hostileModes = map[string]wasm.TrapKind{
	"spin":      wasm.TrapFuel,
	"fib":       wasm.TrapFuel,
	"flood":     wasm.TrapFuel,
	"scan":      wasm.TrapFuel,
	"log":       wasm.TrapFuel,
	"report":    wasm.TrapFuel,
	"opens":     wasm.TrapFuel,
	"write":     wasm.TrapFuel,
	"deliver":   wasm.TrapFuel,
	"exchanges": wasm.TrapHost,
	"recurse":   wasm.TrapFuel,
	"memory":    wasm.TrapFuel,
	"panic":     wasm.TrapUnreachable,
	"nil":       wasm.TrapUnreachable,
	"deadlock":  wasm.TrapUnreachable,
	"pointer":   wasm.TrapHost,
	"length":    wasm.TrapHost,
	"window":    wasm.TrapHost,
	"forward":   wasm.TrapHost,
	"block":     wasm.TrapHost,
}

// A guest that misbehaves is stopped, says why, and no other connection ends with it. Where it
// runs makes no difference.
func TestHostileGuests(t *testing.T) {
	good := open(t, stdioPackage, Config{})
	good.host.stream(0).sink.Opened()

	for place, program := range places {
		for mode, want := range hostileModes {
			t.Run(place+" "+mode, func(t *testing.T) {
				r := open(t, hostilePackage, Config{Remote: program}, abi.Pair{Key: "mode", Value: mode})
				s := r.host.stream(0)
				s.sink.Opened()
				s.sink.Data([]byte("go"), false)
				<-r.inbox.closed

				var trap *wasm.Trap
				if !errors.As(r.inbox.cause, &trap) {
					t.Fatalf("ended with %v", r.inbox.cause)
				}
				if trap.Kind != want {
					t.Errorf("trap %v: %v, want %v", trap.Kind, trap, want)
				}
				if !Crashed(r.inbox.cause) {
					t.Errorf("%v is taken for the plugin's wish", r.inbox.cause)
				}
				var broken *PluginError
				if !errors.As(r.inbox.cause, &broken) || broken.Plugin != "hostile" {
					t.Errorf("the error does not name the plugin: %v", r.inbox.cause)
				}
				good.send(t, 1, "{}")
				<-good.host.stream(0).took
			})
		}
	}
}

// What only looks like an attack has no effect.
func TestHarmlessGuests(t *testing.T) {
	for mode, program := range map[string]Program{"save": nil, "strangers": nil, "lies": elsewhere} {
		t.Run(mode, func(t *testing.T) {
			r := open(t, hostilePackage, Config{Remote: program}, abi.Pair{Key: "mode", Value: mode})
			s := r.host.stream(0)
			s.sink.Opened()
			s.sink.Data([]byte("go"), false)
			r.send(t, 1, "{}")
			if got := <-r.freed; got != 1 {
				t.Errorf("message %d was freed", got)
			}
		})
	}
}

// A guest that keeps itself busy with timers uses up what its connection may
// use, however small each event is.
func TestGreedyTimers(t *testing.T) {
	r := open(t, hostilePackage, Config{Limits: Limits{FuelRate: 1 << 20}}, abi.Pair{Key: "mode", Value: "timer"})
	s := r.host.stream(0)
	s.sink.Opened()
	s.sink.Data([]byte("go"), false)
	for range 64 {
		r.host.timers.fire(1)
	}
	<-r.inbox.closed
	if !errors.Is(r.inbox.cause, errFuel) {
		t.Errorf("ended with %v", r.inbox.cause)
	}
}

// A guest that allocates, and collects its garbage every now and then, is not
// greedy, however often it is called.
func TestGarbageIsNotGreed(t *testing.T) {
	r := open(t, hostilePackage, Config{}, abi.Pair{Key: "mode", Value: "garbage"})
	s := r.host.stream(0)
	s.sink.Opened()
	for range 20_000 {
		s.sink.Data([]byte("go"), false)
	}
	select {
	case <-r.inbox.closed:
		t.Errorf("ended with %v", r.inbox.cause)
	default:
	}
}

// A guest that queues a message again and again is stopped by its budget or
// by the quota of the handle, whichever comes first.
func TestQueueQuota(t *testing.T) {
	r := open(t, hostilePackage, Config{Limits: Limits{Quota: 1 << 10}}, abi.Pair{Key: "mode", Value: "forever"})
	r.host.stream(0).sink.Opened()
	if err := r.Send(context.Background(), newTestMessage(1, "0123456789", r.freed)); err != nil {
		t.Fatal(err)
	}
	<-r.inbox.closed
	if got := <-r.freed; got != 1 {
		t.Errorf("message %d was freed", got)
	}
	var trap *wasm.Trap
	if !errors.As(r.inbox.cause, &trap) || trap.Kind != wasm.TrapHost {
		t.Errorf("ended with %v", r.inbox.cause)
	}
}
