package guest

import (
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// What a guest does alone it has done when the call returns, however many events
// that takes, and no other goroutine ever runs it.
func TestAlone(t *testing.T) {
	r := open(t, stdioPackage, Config{SingleThreaded: true})
	const messages = 5 * ownerTurn
	for n := range uint32(messages) {
		r.send(t, n+1, "{}")
	}
	if r.Up() {
		t.Error("it is up before its process runs")
	}
	r.host.stream(0).sink.Opened()
	if got := len(r.host.stream(0).text()); got != messages*len("{}\n") || !r.Up() {
		t.Errorf("%d bytes were written, up: %v", got, r.Up())
	}
	if r.idle.timer != nil {
		t.Error("a timer looks whether it may rest")
	}
	if r.Used() <= 0 || r.Pages() == 0 {
		t.Errorf("used %d units and %d pages", r.Used(), r.Pages())
	}
}

func TestStrangeEvents(t *testing.T) {
	lines := 0
	r := open(t, stdioPackage, Config{SingleThreaded: true, Trace: func(line, _ []byte) { lines++ }})
	lines = 0
	for _, k := range []abi.Kind{eventStop, abi.EventClose, eventDrained, 1<<32 - 1} {
		r.SendUnknown(k, 1, 1, nil)
	}
	if lines != 0 {
		t.Error("a kind that a host uses was brought to the guest")
	}
	if r.SendUnknown(77, 1, 1, []byte("x")); lines != 2 {
		t.Errorf("%d lines of trace", lines)
	}
}

// Clocks and randomness can be given, and then every instance begins alike.
func TestGivenClockAndRandomness(t *testing.T) {
	asked := 0
	source := reader(func(p []byte) { asked += len(p) })
	ticks := 0
	inst, err := New(t.Context(), Config{
		Plugin: "stdio", Module: module(t, stdioPackage), Random: source,
		Now: func() time.Time { ticks++; return time.Unix(1<<30, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	inst.Close(t.Context())
	if asked == 0 || ticks == 0 {
		t.Errorf("the runtime of the guest took %d bytes of randomness, and looked at the clock %d times", asked, ticks)
	}
}

type reader func([]byte)

func (r reader) Read(p []byte) (int, error) {
	r(p)
	return len(p), nil
}

// On the interpreter and without a meter, a guest does what it does otherwise.
func TestOtherEngines(t *testing.T) {
	for _, c := range []wasm.Config{{Interpreted: true}, {Unmetered: true}} {
		if c.ABI = ABI(); !c.Interpreted {
			c.CacheDir = testenv.CodeDir()
		}
		e, err := wasm.NewEngine(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		m, err := e.Load(t.Context(), "stdio", testenv.Module(t, stdioPackage))
		if err != nil {
			t.Fatal(err)
		}
		inst, err := New(t.Context(), Config{Plugin: "stdio", Module: m, SingleThreaded: true})
		if err != nil {
			t.Fatal(err)
		}
		w := &fakeHost{}
		inst.Open(&abi.Settings{Grants: inst.Manifest().Grants}, nil, w, newInbox())
		w.stream(0).sink.Opened()
		if err := inst.Send(t.Context(), newTestMessage(1, "{}", nil)); err != nil {
			t.Fatal(err)
		}
		if got := w.stream(0).text(); got != "{}\n" {
			t.Errorf("%+v: the server got %q", c, got)
		}
		inst.Close(t.Context())
		if _, err := wasm.NewEngine(t.Context(), wasm.Config{CacheDir: t.TempDir(), Interpreted: c.Interpreted}); c.Interpreted && err == nil {
			t.Error("what an interpreter makes was to be kept")
		}
	}
}
