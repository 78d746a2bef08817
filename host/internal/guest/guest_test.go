package guest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

func TestMessagesCrossBothWays(t *testing.T) {
	r := open(t, stdioPackage, Config{})
	if got := r.Manifest().Name; got != "stdio" {
		t.Fatalf("manifest of %q", got)
	}
	s := r.host.stream(0)
	s.sink.Opened()
	r.send(t, 1, `{"id":1}`)
	<-s.took
	if got := s.text(); got != "{\"id\":1}\n" {
		t.Errorf("the server got %q", got)
	}
	if s.flushes != 1 {
		t.Errorf("%d writes for one message", s.flushes)
	}
	if got := <-r.freed; got != 1 {
		t.Errorf("message %d was freed", got)
	}

	s.sink.Data([]byte("{\"a\":1}\n\n{\"b\":2}\r\n{\"c\""), false)
	s.sink.Data([]byte(":3}\n"), false)
	want := []string{`{"a":1}`, "{\"b\":2}\r", `{"c":3}`}
	if got := r.inbox.messages(); strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("delivered %q, want %q", got, want)
	}
}

// A message that is sent before the connection is up waits for it, and one
// that is withdrawn while it waits never leaves.
func TestMessagesWaitUntilUp(t *testing.T) {
	r := open(t, stdioPackage, Config{})
	s := r.host.stream(0)
	for n := uint32(1); n <= 3; n++ {
		r.send(t, n, "{}")
	}
	if !r.Cancel(2) {
		t.Error("a waiting message was not withdrawn")
	}
	if got := <-r.freed; got != 2 {
		t.Errorf("message %d was freed", got)
	}
	s.sink.Opened()
	<-s.took
	if s.flushes != 1 {
		t.Errorf("%d writes for what waited", s.flushes)
	}
	if got := s.text(); got != "{}\n{}\n" {
		t.Errorf("the server got %q", got)
	}
	if r.Cancel(1) {
		t.Error("a message that was sent was called unsent")
	}
}

// Large messages that waited together leave as soon as they fill a pipe.
func TestLargeMessagesLeaveInParts(t *testing.T) {
	r := open(t, stdioPackage, Config{})
	s := r.host.stream(0)
	for n := uint32(1); n <= 20; n++ {
		r.send(t, n, strings.Repeat("x", 10_000))
	}
	s.sink.Opened()
	for len(s.text()) < 20*10_001 {
		<-s.took
	}
	if s.flushes != 3 { // 7, 7 and 6 of them
		t.Errorf("they left in %d writes", s.flushes)
	}
}

// While the server takes nothing, messages stay in the mailbox, the mailbox
// fills, and then a sender waits until its context ends.
func TestBackpressure(t *testing.T) {
	r := open(t, stdioPackage, Config{Limits: Limits{HighWater: 100, Mailbox: 1000}})
	s := r.host.stream(0)
	s.sink.Opened()
	s.mu.Lock()
	s.stuck = true
	s.mu.Unlock()
	body := strings.Repeat("x", 200)
	r.send(t, 1, body) // goes to the stream, which is now over its mark
	r.send(t, 2, body)
	r.send(t, 3, body)
	r.send(t, 4, body)

	ctx, cancel := context.WithCancelCause(context.Background())
	gone := errors.New("gone")
	cancel(gone)
	if err := r.Send(ctx, newTestMessage(5, body+body+body, r.freed)); !errors.Is(err, gone) {
		t.Errorf("a full mailbox let a message in: %v", err)
	}
	// A reply does not wait behind them.
	reply := newTestMessage(6, "{}", r.freed)
	reply.urgent = true
	if err := r.Send(context.Background(), reply); err != nil {
		t.Fatal(err)
	}
	s.setStuck(false)
	for range 2 {
		<-s.took
	}
	want := body + "\n{}\n" + strings.Repeat(body+"\n", 3)
	if got := s.text(); got != want {
		t.Errorf("the server got %d bytes, want %d", len(got), len(want))
	}
}

func TestExitEndsTheConnection(t *testing.T) {
	r := open(t, stdioPackage, Config{})
	s := r.host.stream(0)
	s.sink.Opened()
	s.sink.End()
	s.sink.Exit(3, "exit status 3", false)
	<-r.inbox.closed
	var exit *ExitError
	if !errors.As(r.inbox.cause, &exit) || exit.Code != 3 {
		t.Errorf("ended with %v", r.inbox.cause)
	}
	<-r.Done()
	s.sink.Data([]byte("{}\n"), false) // returns at once
	if !s.closed || !r.host.timers.stopped {
		t.Error("something of the connection was left open")
	}
}

// A message that waits when the server dies has certainly not been sent, and
// its caller is told.
func TestWhatWaitsAtTheEndWasNotSent(t *testing.T) {
	r := open(t, stdioPackage, Config{})
	r.send(t, 1, "{}") // the process is not up yet
	r.host.stream(0).sink.Exit(1, "exit status 1", false)
	<-r.inbox.closed
	var unsent *UnsentError
	if !errors.As(r.inbox.failed[1], &unsent) {
		t.Errorf("the call ended with %v", r.inbox.failed[1])
	}
}

func TestRefusedOpenEndsTheConnection(t *testing.T) {
	inst, err := New(t.Context(), Config{Plugin: "stdio", Module: module(t, stdioPackage)})
	if err != nil {
		t.Fatal(err)
	}
	box := newInbox()
	inst.Open(&abi.Settings{}, nil, &fakeHost{refuse: abi.Denied}, box)
	<-box.closed
	if !strings.Contains(box.cause.Error(), "DENIED") {
		t.Errorf("ended with %v", box.cause)
	}
}

func TestCloseIsIdempotent(t *testing.T) {
	r := open(t, stdioPackage, Config{})
	r.host.stream(0).sink.Opened()
	done := make(chan error, 8)
	for range cap(done) {
		go func() { done <- r.Close(context.Background()) }()
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if !errors.Is(r.inbox.cause, ErrClosed) {
		t.Errorf("ended with %v", r.inbox.cause)
	}
}

func TestCloseOfAnInstanceThatOnlyDescribed(t *testing.T) {
	inst, err := New(t.Context(), Config{Plugin: "stdio", Module: module(t, stdioPackage)})
	if err != nil {
		t.Fatal(err)
	}
	if err := inst.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestMessagesOverTheCapAreDropped(t *testing.T) {
	r := open(t, stdioPackage, Config{Limits: Limits{MessageCap: 1 << 10}})
	s := r.host.stream(0)
	s.sink.Opened()
	big := `{"id":1,"result":"` + strings.Repeat("x", 8<<10) + `"}`
	for part := []byte(big); len(part) > 0; {
		n := min(len(part), 500)
		s.sink.Data(part[:n], false)
		part = part[n:]
	}
	s.sink.Data([]byte("\n{\"id\":2}\n"), false)
	if len(r.inbox.big) != 1 || !strings.HasPrefix(big, r.inbox.big[0]) || len(r.inbox.big[0]) < 1<<10 {
		t.Errorf("the receiver heard of %d big messages: %.80q", len(r.inbox.big), r.inbox.big)
	}
	if got := r.inbox.messages(); len(got) != 1 || got[0] != `{"id":2}` {
		t.Errorf("delivered %.80q", got)
	}
	if r.inbound.total != 0 {
		t.Errorf("%d bytes are still held", r.inbound.total)
	}
}

// However many goroutines send and however the guest is entered, everything
// that was sent arrives once and is freed once.
func TestHammer(t *testing.T) {
	r := open(t, stdioPackage, Config{})
	s := r.host.stream(0)
	s.sink.Opened()
	const senders, each = 8, 200
	go func() {
		for range 500 {
			s.sink.Data([]byte("{}\n{}\n"), false)
		}
	}()
	for n := range senders {
		go func() {
			for k := range each {
				r.Send(context.Background(), newTestMessage(uint32(1+n*each+k), "{}", r.freed))
			}
		}()
	}
	seen := map[uint32]bool{}
	for range senders * each {
		seen[<-r.freed] = true
	}
	if len(seen) != senders*each {
		t.Errorf("%d messages were freed", len(seen))
	}
	if got := strings.Count(s.text(), "{}\n"); got != senders*each {
		t.Errorf("%d messages arrived", got)
	}
}

func TestScan(t *testing.T) {
	for _, c := range []struct {
		in, needles string
		want        int
	}{
		{"", "\n", -1},
		{"abc\n", "\n", 3},
		{"abc", "\n", -1},
		{"ab\r\n", "\n\r", 2},
		{"ab\r\n", "\r\n", 2},
		{"xyz", "zyx", 0},
		{"hello: world", ":w", 5},
		{"hello", "qrst", -1},
		{"hello", "wxyo", 4},
	} {
		if got, _ := scan([]byte(c.in), abi.PackNeedles(c.needles)); got != c.want {
			t.Errorf("scan(%q, %q) = %d, want %d", c.in, c.needles, got, c.want)
		}
	}
}

// A message passes the sandbox without garbage, either way.
func TestNoGarbageOnTheWay(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	inst, err := New(t.Context(), Config{Plugin: "stdio", Module: module(t, stdioPackage)})
	if err != nil {
		t.Fatal(err)
	}
	w := &benchHost{}
	inst.Open(&abi.Settings{Grants: inst.Manifest().Grants}, nil, w, discardInbox{newInbox()})
	defer inst.Close(context.Background())
	w.sink.Opened()
	chunk := []byte("{\"a\":1}\n{\"b\":2}\n")
	m := newTestMessage(1, "{}", nil)
	if n := testing.AllocsPerRun(1000, func() {
		w.sink.Data(chunk, false)
		inst.Send(context.Background(), m)
	}); n != 0 {
		t.Errorf("%v allocations for three messages", n)
	}
}
