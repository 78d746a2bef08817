package guest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// journal holds the events that reached a guest, by the name of their kind. The
// owner of the guest writes it, and that may be any goroutine.
type journal chan string

func newJournal() journal { return make(journal, 512) }

func (j journal) trace(line, _ []byte) {
	if rest, ok := strings.CutPrefix(string(line), "--> event("); ok {
		kind, _, _ := strings.Cut(rest, ",")
		j <- strings.TrimSuffix(kind, ")")
	}
}

// drain takes out what the journal holds.
func (j journal) drain() (events []string) {
	for len(j) > 0 {
		events = append(events, <-j)
	}
	return events
}

// busy makes the mailbox fill up, as if the guest were at work elsewhere, until
// the function it returns lets the guest go on.
func (r *rig) busy() (goOn func()) {
	r.mu.Lock()
	r.owned = true
	r.mu.Unlock()
	return r.lockAndDrain
}

// A message is not held up forever by a server that keeps the guest busy.
func TestMessagesHaveTheirTurn(t *testing.T) {
	j := newJournal()
	r := open(t, hostilePackage, Config{Trace: j.trace})
	r.host.stream(0).sink.Opened()
	goOn := r.busy()
	const flood = 200
	for n := range uint32(flood) {
		r.post(&item{kind: abi.EventCancel, arg: 1000 + n})
	}
	r.send(t, 1, "{}")
	j.drain()
	goOn()
	for n := range flood + 1 {
		if <-j == "MESSAGE" {
			if n > 2*flushEvery {
				t.Errorf("the message was event %d of %d", n, flood+1)
			}
			return
		}
	}
	t.Errorf("no message among %d events", flood+1)
}

// The end does not wait for what waits in the mailbox.
func TestTheEndComesFirst(t *testing.T) {
	j := newJournal()
	r := open(t, hostilePackage, Config{Trace: j.trace})
	goOn := r.busy()
	for n := range uint32(100) {
		r.post(&item{kind: abi.EventCancel, arg: 1000 + n})
	}
	r.stop()
	j.drain()
	goOn()
	if n := len(j); n != 0 || !r.isDone() {
		t.Errorf("%d events went before the end", n)
	}
}

func TestCloseIsSaidOnce(t *testing.T) {
	j := newJournal()
	r := open(t, hostilePackage, Config{Trace: j.trace})
	r.host.stream(0).sink.Opened()
	r.SendClose()
	r.SendClose()
	if got := strings.Count(strings.Join(j.drain(), " "), "CLOSE"); got != 1 {
		t.Errorf("the guest heard CLOSE %d times", got)
	}
}

// A guest sees the end of what its process said, and no more than it was promised.
func TestLastWords(t *testing.T) {
	var heard []byte
	r := open(t, stdioPackage, Config{Trace: func(line, payload []byte) {
		if bytes.HasPrefix(line, []byte("--> event(EXIT, ")) {
			heard = bytes.Clone(payload)
		}
	}})
	r.host.said = append(bytes.Repeat([]byte("x"), abi.LastWords), "out of cheese\n"...)
	r.host.stream(0).sink.Exit(3, "exit status 3", false)
	<-r.inbox.closed
	if want := r.host.said[len("out of cheese\n"):]; !bytes.Equal(heard, want) {
		t.Errorf("EXIT carried %d bytes, want %d: %.20q", len(heard), len(want), heard)
	}
}

// A caller that comes too late with a message learns why the guest is gone, even before
// the receiver does.
func TestSendToABuriedGuest(t *testing.T) {
	r := open(t, stdioPackage, Config{})
	r.host.stream(0).sink.Exit(3, "exit status 3", false)
	reply := newTestMessage(2, "{}", r.freed)
	reply.urgent = true
	for _, m := range []*testMessage{newTestMessage(1, "{}", r.freed), reply} {
		var unsent *UnsentError
		var exit *ExitError
		if err := r.Send(context.Background(), m); !errors.As(err, &unsent) || !errors.As(err, &exit) {
			t.Errorf("send: %v", err)
		}
		if got := <-r.freed; got != m.exchange {
			t.Errorf("message %d was freed", got)
		}
	}
}

// A plugin that ends a connection which the host did not close is to blame for it.
func TestEndedWithoutClose(t *testing.T) {
	r := open(t, hostilePackage, Config{}, abi.Pair{Key: "mode", Value: "ended"})
	s := r.host.stream(0)
	s.sink.Opened()
	s.sink.Data([]byte("go"), false)
	var broken *PluginError
	if !r.isDone() || !errors.As(r.inbox.cause, &broken) {
		t.Errorf("ended with %v", r.inbox.cause)
	}
}

// The end of what is essential is the end of the connection, even where the
// plugin closes the handle when it hears of it.
func TestEssentialHandleIsClosedAtItsEnd(t *testing.T) {
	r := open(t, hostilePackage, Config{})
	s := r.host.stream(0)
	s.sink.Opened()
	s.sink.End()
	var ended *EndedError
	if !r.isDone() || !errors.As(r.inbox.cause, &ended) {
		t.Errorf("ended with %v", r.inbox.cause)
	}
}

// A handle that failed takes nothing any more, so nothing waits for it.
func TestFailedHandleHoldsNothingBack(t *testing.T) {
	for name, end := range map[string]func(hostio.Sink){
		"error": func(s hostio.Sink) { s.Error(abi.Reset, errors.New("gone")) },
		"exit":  func(s hostio.Sink) { s.Exit(1, "exit status 1", false) },
	} {
		r := open(t, hostilePackage, Config{Limits: Limits{HighWater: 100}}, abi.Pair{Key: "mode", Value: "second"})
		first := r.host.stream(0)
		first.sink.Opened()
		r.host.stuck = true
		first.sink.Data([]byte("go"), false)
		if r.backpressured != 1 {
			t.Fatal("a handle that takes nothing holds nothing back")
		}
		end(r.host.stream(1).sink)
		if r.backpressured != 0 {
			t.Errorf("%s: messages still wait for it", name)
		}
	}
}

// What was meant for a closed handle does not reach the one after it.
func TestLateEventsAreDropped(t *testing.T) {
	j := newJournal()
	r := open(t, stdioPackage, Config{Trace: j.trace})
	old := r.host.stream(0).sink
	old.Opened()
	r.release(&r.handles[0])
	r.Instance.open(abi.OpenProcess, 0, &abi.OpenRequest{Grant: "main"})
	j.drain()
	old.Opened()
	old.Head(200, nil, -1, nil, false)
	old.Data([]byte("{}\n"), false)
	old.End()
	old.Drained()
	old.Error(abi.Reset, errors.New("gone"))
	old.Exit(1, "exit status 1", false)
	r.fire(1) // a timer that was never set
	if events := j.drain(); len(events) != 0 {
		t.Errorf("the guest heard %v", events)
	}
}

// tiny returns a module whose one function, if call is not "", makes that host
// call with zeros, and returns result.
func tiny(result byte, call abi.Call, calls bool) []byte {
	section := func(id byte, body ...byte) []byte { return append([]byte{id, byte(len(body))}, body...) }
	name := func(s string) []byte { return append([]byte{byte(len(s))}, s...) }
	join := func(parts ...[]byte) (all []byte) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	imported := append([]byte{0x60, byte(call.Params())}, []byte(strings.Repeat("\x7f", call.Params()))...)
	imported = append(imported, 1, 0x7f)
	code, first := []byte{0}, byte(0)
	m := [][]byte{
		[]byte("\x00asm\x01\x00\x00\x00"),
		section(1, join([]byte{3, 0x60, 0, 0, 0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f}, imported)...),
	}
	if calls {
		m = append(m, section(2, join([]byte{1}, name(abi.Module), name(call.String()), []byte{0, 2})...))
		code, first = append(code, []byte(strings.Repeat("\x41\x00", call.Params())+"\x10\x00\x1a")...), 1
	}
	code = append(code, 0x41, result, 0x0b)
	m = append(m,
		section(3, 2, 0, 1),
		section(5, 1, 0, 1),
		section(7, join([]byte{3}, name(abi.ExportMarker), []byte{0, first},
			name(abi.ExportEvent), []byte{0, first + 1}, name("memory"), []byte{2, 0})...),
		section(10, join([]byte{2, 2, 0, 0x0b, byte(len(code))}, code)...),
	)
	return join(m...)
}

// A plugin that cannot say what it is does not come to be.
func TestDescribeFails(t *testing.T) {
	e, err := engine()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		module []byte
		want   string
	}{
		{"silent", tiny(0, 0, false), errNoManifest.Error()},
		{"giving up", tiny(0x73, 0, false), "gave up"},
		{"early deliver", tiny(0, abi.CallDeliver, true), errBeforeOpen.Error()},
		{"early open", tiny(0, abi.CallOpen, true), errBeforeOpen.Error()},
		{"early timer", tiny(0, abi.CallTimer, true), errBeforeOpen.Error()},
		{"early save", tiny(0, abi.CallSave, true), errBeforeOpen.Error()},
		{"bad manifest", tiny(0, abi.CallReport, true), errBeforeOpen.Error()},
	} {
		m, err := e.Load(t.Context(), c.name, c.module)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		inst, err := New(t.Context(), Config{Plugin: c.name, Module: m})
		if err == nil {
			inst.Close(t.Context())
		}
		var broken *PluginError
		if !errors.As(err, &broken) || broken.Plugin != c.name || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A caller who leaves while a plugin is being compiled has not met a fault of it.
func TestNewIsLeft(t *testing.T) {
	e, err := wasm.NewEngine(t.Context(), wasm.Config{ABI: ABI()})
	if err != nil {
		t.Fatal(err)
	}
	m, err := e.Load(t.Context(), "stdio", testenv.Module(t, stdioPackage))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = New(ctx, Config{Plugin: "stdio", Module: m})
	var broken *PluginError
	if !errors.Is(err, context.Canceled) || errors.As(err, &broken) {
		t.Errorf("left with %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	_, err = New(t.Context(), Config{Plugin: "stdio", Module: m})
	if err == nil || errors.As(err, &broken) {
		t.Errorf("a closed engine: %v", err)
	}
}
