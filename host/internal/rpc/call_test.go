package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

var errBroken = errors.New("pipe is broken")

func TestCalls(t *testing.T) {
	const (
		ping1 = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		ping2 = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
	)
	limit := Config{Timeout: time.Second}
	tests := []struct {
		name   string
		config Config
		steps  []step
	}{
		{"an answer", limit, []step{
			asks("ping"), sends(ping1), waits("ping"),
			answers(1, `{"a": 1}`), gets("ping", `{"a": 1}`),
			counts(Counters{Answers: 1}), leaves(),
		}},
		{"params and a name", limit, []step{
			requests("a", Call{Method: "tools/call", Name: "x"}, func(dst []byte) ([]byte, error) {
				return strictjson.AppendValue(dst, map[string]any{"name": "x", "arguments": map[string]any{"text": "a\nb"}})
			}),
			sends(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"arguments":{"text":"a\nb"},"name":"x"}}`),
			answers(1, `null`), gets("a", `null`),
		}},
		{"answers in another order", limit, []step{
			asks("a"), asks("b"), asks("c"),
			answers(3, `"c"`), answers(1, `"a"`), gets("a", `"a"`), gets("c", `"c"`), waits("b"),
			answers(2, `"b"`), gets("b", `"b"`),
		}},
		{"an error of the server", limit, []step{
			asks("ping"),
			delivers(0, `{"id":1,"error":{"code":-32602,"message":"no \"x\"","data":{"a":[1]}},"jsonrpc":"2.0"}`, abi.VerdictAnswer),
			refused("ping", Error{Code: -32602, Message: `no "x"`, Data: []byte(`{"a":[1]}`)}),
		}},
		{"a late and a duplicate answer", limit, []step{
			asks("ping"), passes(time.Second), fails("ping", MaybeSent, ErrTimeout),
			delivers(0, `{"jsonrpc":"2.0","id":1,"result":1}`, abi.VerdictLate),
			delivers(0, `{"jsonrpc":"2.0","id":1,"result":1}`, abi.VerdictLate),
			delivers(0, `{"jsonrpc":"2.0","id":99,"result":1}`, abi.VerdictLate),
			delivers(0, `{"jsonrpc":"2.0","id":"x","result":1}`, abi.VerdictLate),
			counts(Counters{Late: 1, Duplicate: 1, Unknown: 2}),
			drops("no call waits", "no call waits", "the id 99, which no request has", `the id "x", which no request has`),
		}},
		{"a timeout tells the server", limit, []step{
			asks("ping"), sends(ping1), passes(time.Second - 1), waits("ping"),
			passes(1), fails("ping", MaybeSent, ErrTimeout), leaves(1),
			sends(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"timed out after 1s"}}`),
		}},
		{"a timeout of a call's own", limit, []step{
			requests("short", Call{Method: "ping", Timeout: time.Millisecond}, nil),
			requests("long", Call{Method: "ping", Timeout: time.Minute}, nil),
			requests("none", Call{Method: "ping", Timeout: -1}, nil),
			asks("usual"),
			passes(time.Millisecond), fails("short", MaybeSent, ErrTimeout),
			passes(time.Second), fails("usual", MaybeSent, ErrTimeout), waits("long"),
			passes(time.Minute), fails("long", MaybeSent, ErrTimeout),
			passes(1000 * time.Hour), waits("none"),
		}},
		{"no timeout", Config{}, []step{
			asks("ping"), passes(1000 * time.Hour), waits("ping"), answers(1, `1`), gets("ping", `1`),
		}},
		{"nothing is pending", limit, []step{
			quiet(true), asks("a"), asks("b"), answers(2, `1`), quiet(false),
			does(func(s *scene) { s.peer.Deliver(0, []byte(`{"jsonrpc":"2.0","id":1,"result":1}`), false) }), quiet(true),
		}},
		{"the timer outlives the call it was armed for", limit, []step{
			asks("a"), passes(time.Second / 2), answers(1, `1`), asks("b"),
			passes(time.Second / 2), waits("b"), passes(time.Second / 2), fails("b", MaybeSent, ErrTimeout),
		}},
		{"a caller that leaves tells the server", limit, []step{
			asks("ping"), sends(ping1), cancels("ping"), fails("ping", MaybeSent, context.Canceled), leaves(1), quiet(true),
			sends(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"context canceled"}}`),
		}},
		{"a cause goes along", limit, []step{
			asks("ping"), does(func(s *scene) { s.calls["ping"].cancel(errBroken) }),
			fails("ping", MaybeSent, context.Canceled), fails("ping", MaybeSent, errBroken),
		}},
		{"a message that had not left", limit, []step{
			does(func(s *scene) { s.link.unsent = true }),
			asks("ping"), sends(ping1), cancels("ping"), fails("ping", NotSent, context.Canceled), leaves(1), sends(),
		}},
		{"initialize is never cancelled", limit, []step{
			asks("initialize"), sends(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`),
			passes(time.Second), fails("initialize", MaybeSent, ErrTimeout), leaves(1), sends(),
		}},
		{"cancelling by the stream", limit, []step{
			agrees(Terms{StreamCancel: true}),
			asks("ping"), sends(ping1), cancels("ping"), leaves(1), sends(),
		}},
		{"a caller that had left before", limit, []step{
			does(func(s *scene) {
				ctx, cancel := context.WithCancel(s.t.Context())
				cancel()
				s.calls["ping"] = &actor{}
				s.calls["ping"].end(s.peer.Call(ctx, &Call{Method: "ping"}, nil))
			}),
			fails("ping", NotSent, context.Canceled), sends(), leaves(),
		}},
		{"no room until the deadline", limit, []step{
			does(func(s *scene) { s.link.full = make(chan struct{}) }),
			asks("ping"), waits("ping"), passes(time.Second), fails("ping", NotSent, ErrTimeout), sends(), leaves(),
		}},
		{"no room until the caller leaves", limit, []step{
			does(func(s *scene) { s.link.full = make(chan struct{}) }),
			asks("ping"), cancels("ping"), fails("ping", NotSent, context.Canceled), sends(), leaves(),
		}},
		{"no room until the end", limit, []step{
			does(func(s *scene) { s.link.full = make(chan struct{}) }),
			asks("ping"), does(func(s *scene) { s.peer.Close(errBroken) }), fails("ping", NotSent, errBroken), sends(),
		}},
		{"room in time", limit, []step{
			does(func(s *scene) { s.link.full = make(chan struct{}) }),
			asks("ping"), passes(time.Second / 2), does(func(s *scene) { close(s.link.full) }), sends(ping1),
			answers(1, `1`), gets("ping", `1`),
		}},
		{"a link that refuses", limit, []step{
			does(func(s *scene) { s.link.refuse = errBroken }),
			asks("ping"), fails("ping", NotSent, errBroken),
			delivers(0, `{"jsonrpc":"2.0","id":1,"result":1}`, abi.VerdictLate),
		}},
		{"params that cannot be sent", limit, []step{
			requests("error", Call{Method: "ping"}, func(dst []byte) ([]byte, error) { return nil, errBroken }),
			fails("error", NotSent, ErrParams), fails("error", NotSent, errBroken),
			requests("lf", Call{Method: "ping"}, raw("{\n}")), fails("lf", NotSent, ErrParams),
			requests("cr", Call{Method: "ping"}, raw("{\r}")), fails("cr", NotSent, ErrParams),
			requests("lf first", Call{Method: "ping"}, raw("\n{}")), fails("lf first", NotSent, ErrParams),
			requests("cr first", Call{Method: "ping"}, raw("\r{}")), fails("cr first", NotSent, ErrParams),
			requests("none", Call{Method: "ping"}, raw("")), fails("none", NotSent, ErrParams),
			sends(), leaves(),
		}},
		{"the connection ends", limit, []step{
			asks("a"), asks("b"), does(func(s *scene) { s.peer.Close(errBroken); s.peer.Close(nil) }),
			fails("a", MaybeSent, errBroken), fails("b", MaybeSent, ErrClosed),
			asks("c"), fails("c", NotSent, errBroken), fails("c", NotSent, ErrClosed),
			does(func(s *scene) {
				if s.peer.flight.timer.Stop() {
					s.t.Error("the timer still runs")
				}
			}),
			delivers(0, `{"jsonrpc":"2.0","id":1,"result":1}`, abi.VerdictLate),
			does(func(s *scene) {
				if err := s.peer.Notify(s.t.Context(), "x", nil); !errors.Is(err, ErrNotSent) {
					s.t.Error(err)
				}
			}),
			leaves(),
		}},
		{"an exchange ends without an answer", limit, []step{
			asks("ping"), sends(ping1), does(func(s *scene) { s.peer.Done(1); s.peer.Done(1); s.peer.Done(7) }),
			fails("ping", MaybeSent, ErrNoResponse),
			does(func(s *scene) {
				if got := s.calls["ping"].outcome().err.Error(); got != "ping: no response received for request ID 1" {
					s.t.Error(got)
				}
			}), leaves(), sends(),
		}},
		{"an exchange ends with a malformed message", limit, []step{
			asks("a"), delivers(1, `{nope`, abi.VerdictMalformed), delivers(1, `17`, abi.VerdictMalformed), drops("offset 1", "not a JSON object"),
			does(func(s *scene) { s.peer.Done(1) }), fails("a", Answered, ErrMalformed),
			does(func(s *scene) {
				if got := s.calls["a"].outcome().err.Error(); got != "a: malformed message: unexpected byte at offset 1, and no other answer came" {
					s.t.Error(got)
				}
			}),
			asks("b"), delivers(2, `{nope`, abi.VerdictMalformed), drops("offset 1"), answers(2, `1`), gets("b", `1`),
			asks("c"), delivers(3, `{nope`, abi.VerdictMalformed), drops("offset 1"),
			does(func(s *scene) { s.peer.Failed(3, errBroken) }), fails("c", MaybeSent, errBroken),
			asks("d"), does(func(s *scene) { s.peer.Done(4) }), fails("d", MaybeSent, ErrNoResponse), leaves(),
		}},
		{"an exchange fails", limit, []step{
			asks("a"), asks("b"),
			does(func(s *scene) { s.peer.Failed(1, errBroken); s.peer.Failed(2, errors.Join(ErrNotSent, errBroken)) }),
			fails("a", MaybeSent, errBroken), fails("b", NotSent, errBroken),
			asks("c"), asks("d"), does(func(s *scene) {
				s.peer.Failed(3, &StatusError{Refused: true, Err: errBroken})
				s.peer.Failed(4, &StatusError{Refused: true, HTTP: 404, Err: errBroken})
			}),
			fails("c", NotSent, errBroken), fails("d", MaybeSent, errBroken),
			does(func(s *scene) { s.peer.Failed(9, errBroken) }), counts(Counters{Failures: 1}), drops("broken"),
			leaves(),
		}},
		{"numbers are shared with notifications", limit, []step{
			does(func(s *scene) {
				if err := s.peer.Notify(s.t.Context(), "notifications/initialized", nil); err != nil {
					s.t.Error(err)
				}
			}),
			sends(`{"jsonrpc":"2.0","method":"notifications/initialized"}`),
			asks("ping"), sends(ping2), answers(2, `1`), gets("ping", `1`),
		}},
		{"numbers that are taken are stepped over", Config{}, []step{
			asks("old"), does(func(s *scene) { s.peer.flight.lastID = 1<<32 - 1 }),
			asks("new"), answers(1<<32+2, `"new"`), gets("new", `"new"`), waits("old"),
			delivers(0, `{"jsonrpc":"2.0","id":4294967297,"result":1}`, abi.VerdictLate),
			answers(1, `"old"`), gets("old", `"old"`),
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { play(t, test.config, test.steps...) })
	}
}

func raw(text string) Appender {
	return func(dst []byte) ([]byte, error) { return append(dst, text...), nil }
}

// odd is a link that does something odd with the message it is given.
type odd func(ctx context.Context, m *Message) error

func (l odd) Send(ctx context.Context, m *Message) error { return l(ctx, m) }
func (l odd) Cancel(uint32) bool                         { return false }

// TestRefusedAfterItsAnswer: a link that says that a message was not sent, when
// the server has guessed its id and answered, leaves no trace on later calls.
func TestRefusedAfterItsAnswer(t *testing.T) {
	var p *Peer
	p = NewPeer(Config{Link: odd(func(_ context.Context, m *Message) error {
		p.Deliver(0, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":1}`, m.Exchange()), false)
		m.Free()
		return errBroken
	})})
	defer p.Close(nil)
	var made []*pendingCall
	p.calls.New = func() any {
		c := newPendingCall().(*pendingCall)
		made = append(made, c)
		return c
	}
	for range 100 {
		if _, err := p.Call(t.Context(), &Call{}, nil); !errors.Is(err, errBroken) || !errors.Is(err, ErrNotSent) {
			t.Fatal(err)
		}
		for _, c := range made {
			if len(c.done) != 0 {
				t.Fatal("the call ended twice")
			}
		}
	}
	if len(made) == 0 {
		t.Error("no record of a call was made")
	}
}

// TestLateLookAtTheContext: a link that first looks at its context when the
// call has ended finds it done.
func TestLateLookAtTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPeer(Config{Timeout: time.Second, Link: odd(func(ctx context.Context, m *Message) error {
			defer m.Free()
			time.Sleep(2 * time.Second)
			<-ctx.Done()
			return ctx.Err()
		})})
		defer p.Close(nil)
		if _, err := p.Call(t.Context(), &Call{}, nil); !errors.Is(err, ErrTimeout) || !errors.Is(err, ErrNotSent) {
			t.Error(err)
		}
	})
}

// gated is a link that takes a request at once, and anything else when it is let.
type gated struct {
	open chan struct{}
}

func (l *gated) Send(ctx context.Context, m *Message) error {
	defer m.Free()
	if m.Kind == abi.Request {
		return nil
	}
	select {
	case <-l.open:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *gated) Cancel(uint32) bool { return false }

// A caller that leaves does not wait until the server is told, but others can.
func TestToldOfWhatWasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := &gated{make(chan struct{})}
		p := NewPeer(Config{Link: link})
		defer p.Close(nil)
		if err := p.Flush(t.Context()); err != nil {
			t.Errorf("nothing to tell: %v", err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("enough")
		time.AfterFunc(time.Second, func() { cancel(cause) })
		if _, err := p.Call(ctx, &Call{Method: "tools/call"}, nil); !errors.Is(err, cause) {
			t.Errorf("call: %v", err)
		}
		if err := p.Flush(ctx); err != cause {
			t.Errorf("held up, it ends with %v", err)
		}
		time.AfterFunc(time.Second, func() { close(link.open) })
		began := time.Now()
		if err := p.Flush(t.Context()); err != nil || time.Since(began) != time.Second {
			t.Errorf("told after %v, %v", time.Since(began), err)
		}
	})
}

// talker is a link to a server that provokes another word with each that it is sent.
type talker struct {
	peer *Peer
	left int
}

func (l *talker) Send(_ context.Context, m *Message) error {
	time.Sleep(time.Second)
	if l.left--; l.left > 0 {
		l.peer.sender.post(m)
	} else {
		m.Free()
	}
	return nil
}

func (l *talker) Cancel(uint32) bool { return false }

// A caller that waits for what was posted does not wait for what is posted after it.
func TestToldOfWhatWasBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := &talker{left: 1000}
		link.peer = NewPeer(Config{Link: link})
		m, err := link.peer.notification("x", nil)
		if err != nil {
			t.Fatal(err)
		}
		link.peer.sender.post(m)
		began := time.Now()
		if err := link.peer.Flush(t.Context()); err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("told after %v, %v", time.Since(began), err)
		}
		link.peer.Close(nil)
		time.Sleep(time.Minute) // of the bubble: the asyncSender has gone
	})
}

func TestNotifyWaitsForRoom(t *testing.T) {
	play(t, Config{Timeout: time.Second},
		does(func(s *scene) {
			s.link.full = make(chan struct{})
			err := s.peer.Notify(s.t.Context(), "notifications/initialized", nil)
			if !errors.Is(err, ErrTimeout) || !errors.Is(err, ErrNotSent) {
				s.t.Error(err)
			}
		}), sends())
}

// The time in which the caller is busy does not count against the timeout of a call.
func TestBusyCaller(t *testing.T) {
	var began time.Time
	play(t, Config{Timeout: time.Second, Aside: func(since time.Time) time.Duration {
		from, to := began.Add(time.Second/2), began.Add(7*time.Second/2)
		if since.After(from) {
			from = since
		}
		return max(0, min(time.Since(from), to.Sub(from)))
	}},
		does(func(*scene) { began = time.Now() }), asks("ping"), passes(4*time.Second-1), waits("ping"),
		passes(1), fails("ping", MaybeSent, ErrTimeout))
}

func TestNotifyWithoutALimitOfTime(t *testing.T) {
	p := NewPeer(Config{Link: odd(func(ctx context.Context, m *Message) error {
		m.Free()
		return context.Cause(ctx)
	})})
	defer p.Close(nil)
	if err := p.Notify(t.Context(), "notifications/initialized", nil); err != nil {
		t.Error(err)
	}
}

// TestAllocations holds a call to one allocation: its result.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector empties pools")
	}
	p, l := newEcho(Config{Timeout: DefaultTimeout})
	defer p.Close(nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l.buffer = make([]byte, 0, 512)
	n := testing.AllocsPerRun(1000, func() {
		if _, err := p.Call(ctx, &Call{Method: "tools/call", Name: "echo"}, hello); err != nil {
			t.Fatal(err)
		}
	})
	if n > 1 {
		t.Errorf("%v allocations per call", n)
	}
}

// TestBegun holds that a caller is told when its call is pending, and not where it
// never is.
func TestBegun(t *testing.T) {
	begun := 0
	var p *Peer
	call := Call{Method: "a", Begun: func() {
		if begun++; p.Quiet() {
			t.Error("told too early")
		}
	}}
	play(t, Config{},
		does(func(s *scene) { p = s.peer }),
		requests("a", call, nil), does(func(s *scene) { s.peer.Close(nil) }),
		fails("a", MaybeSent, ErrClosed), requests("late", call, nil), fails("late", NotSent, ErrClosed))
	if begun != 1 {
		t.Errorf("told %d times", begun)
	}
}

// TestDrain has calls come while others are still pending, and when none is.
func TestDrain(t *testing.T) {
	var drained error
	waiting := true
	drains := func(s *scene) {
		go func() {
			drained = s.peer.Drain(s.t.Context())
			waiting = false
		}()
	}
	play(t, Config{},
		asks("first"), drains, asks("second"), answers(1, `1`), gets("first", "1"),
		func(s *scene) {
			if !waiting {
				s.t.Error("drained while a call is pending")
			}
		},
		answers(2, `2`), gets("second", "2"),
		func(s *scene) {
			if waiting || drained != nil {
				s.t.Errorf("still waiting: %v, %v", waiting, drained)
			}
		},
		asks("late"), fails("late", NotSent, ErrClosed),
		func(s *scene) {
			if err := s.peer.Notify(s.t.Context(), "notifications/x", nil); err != nil {
				s.t.Error(err)
			}
		},
		func(s *scene) {
			if err := s.peer.Drain(s.t.Context()); err != nil {
				s.t.Error(err)
			}
		})
	play(t, Config{},
		requests("background", Call{Method: "background", Background: true}, nil), asks("first"), answers(2, `2`),
		func(s *scene) {
			if err := s.peer.Drain(s.t.Context()); err != nil {
				s.t.Error(err)
			}
		},
		answers(1, `1`), gets("background", "1"), asks("late"), fails("late", NotSent, ErrClosed))
	play(t, Config{},
		asks("first"),
		func(s *scene) {
			ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
			defer cancel()
			if err := s.peer.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
				s.t.Error(err)
			}
		},
		waits("first"))
	play(t, Config{},
		requests("background", Call{Method: "background", Background: true}, nil), answers(1, `1`), asks("first"), asks("second"),
		func(s *scene) {
			ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
			defer cancel()
			if err := s.peer.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
				s.t.Errorf("after a background call: %v", err)
			}
		})
}

// TestErrorTextsAreBounded: each layer above copies the text of an error, so a message of
// many megabytes is not in it whole.
func TestErrorTextsAreBounded(t *testing.T) {
	for message, want := range map[string]string{
		"no":                                    "MCP error 7: no",
		"MCP error 7: no":                       "MCP error 7: no",
		"MCP error 8: no":                       "MCP error 7: MCP error 8: no",
		strings.Repeat("x", mostShown):          "MCP error 7: " + strings.Repeat("x", mostShown),
		strings.Repeat("x", mostShown-1) + "éy": "MCP error 7: " + strings.Repeat("x", mostShown-1) + "… (3 bytes more)",
		strings.Repeat("\x80", 2*mostShown):     "MCP error 7: " + strings.Repeat("\x80", mostShown-4) + "… (4100 bytes more)",
	} {
		if got := (&Error{Code: 7, Message: message}).Error(); got != want {
			t.Errorf("%d bytes: got %d, ending in %.40q", len(message), len(got), got[max(0, len(got)-40):])
		}
	}
}

// TestErrorCodes: an error of the server reaches the caller with its code, and so do
// those that JSON-RPC has itself.
func TestErrorCodes(t *testing.T) {
	for code, named := range map[int]int{
		-32700: mcp.CodeParseError, -32600: mcp.CodeInvalidRequest, -32601: mcp.CodeMethodNotFound, -32602: mcp.CodeInvalidParams, -32603: mcp.CodeInternalError,
	} {
		if named != code {
			t.Errorf("%d is called what %d is", named, code)
		}
		play(t, Config{},
			asks("a"), delivers(0, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":"no"}}`, code), abi.VerdictAnswer),
			refused("a", Error{Code: code, Message: "no"}))
	}
}
