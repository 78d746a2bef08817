package rpc

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/wharf-mcp/wharf/abi"
)

// script is a handler made of functions; nil ones do nothing.
type script struct {
	request func(ctx context.Context, in *Incoming) (Appender, error)
	notify  func(in *Incoming)
	heed    func(method string, params []byte)
}

func (h *script) Request(ctx context.Context, in *Incoming) (Appender, error) {
	return h.request(ctx, in)
}

func (h *script) Notify(in *Incoming) {
	if h.notify != nil {
		h.notify(in)
	}
}

func (h *script) Preempt(method string, params []byte) {
	if h.heed != nil {
		h.heed(method, params)
	}
}

// byMethod does what the name of a request's method says.
func byMethod(ctx context.Context, in *Incoming) (Appender, error) {
	switch in.Method {
	case "ping":
		return raw(`{}`), nil
	case "echo":
		return raw(string(in.Params)), nil
	case "refuse":
		return nil, &Error{Code: -32000, Message: "no", Data: []byte(`{ "why": 1 }`)}
	case "wrapped":
		return nil, fmt.Errorf("wrapped: %w", &Error{Code: -1, Message: "user\nrejected"})
	case "fail":
		return nil, errors.New("a secret")
	case "unwritable":
		return func(dst []byte) ([]byte, error) { return append(dst, `{"half":`...), errors.New("a secret") }, nil
	case "two lines":
		return raw("{\n}"), nil
	}
	<-ctx.Done()
	return raw(`"` + context.Cause(ctx).Error() + `"`), nil
}

func serverAsks(id, method string) step {
	return delivers(0, `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":{"a": 1}}`, abi.VerdictRequest)
}

func TestRequestsOfTheServer(t *testing.T) {
	c := Config{Handler: &script{request: byMethod}}
	play(t, c,
		serverAsks(`7`, "ping"), sends(`{"jsonrpc":"2.0","id":7,"result":{}}`),
		serverAsks(`0`, "ping"), sends(`{"jsonrpc":"2.0","id":0,"result":{}}`),
		serverAsks(`8`, "echo"), sends(`{"jsonrpc":"2.0","id":8,"result":{"a": 1}}`),
		serverAsks(`"a\u0062"`, "refuse"), sends(`{"jsonrpc":"2.0","id":"a\u0062","error":{"code":-32000,"message":"no","data":{"why":1}}}`),
		serverAsks(`1.0`, "wrapped"), sends(`{"jsonrpc":"2.0","id":1.0,"error":{"code":-1,"message":"user\nrejected"}}`),
		serverAsks(`1`, "fail"), sends(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"internal error"}}`),
		serverAsks(`2`, "unwritable"), sends(`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"internal error"}}`),
		serverAsks(`3`, "two lines"), sends(`{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"internal error"}}`),
		delivers(5, `{"jsonrpc":"2.0","id":3,"method":"echo","params":null}`, abi.VerdictRequest),
		sends(`{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"internal error"}}`),
		counts(Counters{Requests: 9}))
}

// A reply to a server waits for no room, except if the server asked for progress, which comes first.
func TestRepliesAndProgress(t *testing.T) {
	var room chan struct{} // of the bubble
	asks := func(id, params string) step {
		return delivers(0, `{"jsonrpc":"2.0","id":`+id+`,"method":"ping","params":`+params+`}`, abi.VerdictRequest)
	}
	play(t, Config{Handler: &script{request: byMethod}},
		does(func(s *scene) {
			room = make(chan struct{})
			s.link.full = room
		}),
		asks(`1`, `{"_meta":{"progressToken":0}}`), sends(),
		asks(`2`, `{"progressToken":0}`), sends(result(`2`)),
		asks(`3`, `{"_meta":[{"progressToken":0}]}`), sends(result(`3`)),
		asks(`4`, `[{"_meta":{"progressToken":0}}]`), sends(result(`4`)),
		does(func(s *scene) { close(room) }), sends(result(`1`)))
}

func TestRequestsWithoutAHandler(t *testing.T) {
	play(t, Config{},
		serverAsks(`7`, "ping"), sends(`{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"method not found"}}`),
		delivers(0, `{"jsonrpc":"2.0","method":"x"}`, abi.VerdictNote),
		counts(Counters{Requests: 1, Refused: 1, Notifications: 1}))
}

// A goroutine that has served a request serves the next one, with the stack that it has. So many as
// maxWaiting wait for one.
func TestGoroutinesServeAgain(t *testing.T) {
	goroutines := make(map[string]bool)
	h := &script{request: func(context.Context, *Incoming) (Appender, error) {
		var stack [64]byte
		name, _, _ := strings.Cut(string(stack[:runtime.Stack(stack[:], false)]), " [")
		goroutines[name] = true
		return raw(`{}`), nil
	}}
	play(t, Config{Handler: h},
		serverAsks(`1`, "x"), sends(`{"jsonrpc":"2.0","id":1,"result":{}}`),
		serverAsks(`2`, "x"), sends(`{"jsonrpc":"2.0","id":2,"result":{}}`),
		does(func(s *scene) {
			if len(goroutines) != 1 {
				s.t.Errorf("%d goroutines served two requests, one after the other", len(goroutines))
			}
		}))

	var leave chan struct{}
	h.request = func(context.Context, *Incoming) (Appender, error) {
		<-leave
		return raw(`{}`), nil
	}
	steps := []step{does(func(*scene) { leave = make(chan struct{}) })} // a channel of the scene
	for id := range 2 * maxWaiting {
		steps = append(steps, serverAsks(strconv.Itoa(id), "x"))
	}
	play(t, Config{Handler: h}, append(steps, does(func(s *scene) {
		close(leave)
		synctest.Wait()
		if n := s.peer.serving.waiting.Load(); n != maxWaiting {
			s.t.Errorf("%d goroutines wait for the next request", n)
		}
	}))...)
}

// TestServerTakesBack: a request that the server cancels ends its context and
// gets no reply, and the notification is heard like any other.
func TestServerTakesBack(t *testing.T) {
	var heard []string
	var cause error
	h := &script{
		notify: func(in *Incoming) { heard = append(heard, in.Method+string(in.Params)) },
		request: func(ctx context.Context, in *Incoming) (Appender, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return raw(`{}`), nil
		},
	}
	const params = `{"requestId":"x","reason":"too slow"}`
	play(t, Config{Handler: h},
		serverAsks(`"x"`, "wait"), serverAsks(`"y"`, "wait"),
		delivers(0, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":`+params+`}`, abi.VerdictNote),
		sends(),
		does(func(s *scene) {
			var taken *TakenBack
			if !errors.As(cause, &taken) || string(taken.Reason) != `"too slow"` || !slices.Equal(heard, []string{"notifications/cancelled" + params}) {
				s.t.Errorf("%v, %q", cause, heard)
			}
		}))
}

// A reason that is no text, or is long, is as none. One may come before the id.
func TestReasonsOfCancellations(t *testing.T) {
	if maxReason != 1<<10 {
		t.Errorf("a reason has %d bytes at most", maxReason)
	}
	longest := `"` + strings.Repeat("a", maxReason-2) + `"`
	for params, want := range map[string]string{
		`{"reason":"e\u006eough","requestId":"x"}`:         `"e\u006eough"`,
		`{"requestId":"x"}`:                                "",
		`{"requestId":"x","reason":["a"]}`:                 "",
		`{"requestId":"x","reason":` + longest + `}`:       longest,
		`{"requestId":"x","reason":"a` + longest[1:] + `}`: "",
	} {
		var cause error
		h := &script{request: func(ctx context.Context, _ *Incoming) (Appender, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return raw(`{}`), nil
		}}
		play(t, Config{Handler: h}, serverAsks(`"x"`, "wait"),
			delivers(0, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":`+params+`}`, abi.VerdictNote), sends(),
			does(func(s *scene) {
				var taken *TakenBack
				if !errors.As(cause, &taken) || string(taken.Reason) != want {
					s.t.Errorf("%.60s: %v, %q", params, cause, taken.Reason)
				}
			}))
	}
}

func TestServerAsksTooMuch(t *testing.T) {
	steps := []step{}
	for i := range maxServing {
		steps = append(steps, serverAsks(fmt.Sprint(i), "wait"))
	}
	play(t, Config{Handler: &script{request: byMethod}}, append(steps,
		serverAsks(`100`, "ping"), sends(`{"jsonrpc":"2.0","id":100,"error":{"code":-32603,"message":"busy: 64 requests are being answered"}}`),
		delivers(0, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`, abi.VerdictNote),
		serverAsks(`4`, "ping"), sends(`{"jsonrpc":"2.0","id":4,"error":{"code":-32600,"message":"a request with this id is being answered"}}`),
		serverAsks(`100`, "ping"), sends(`{"jsonrpc":"2.0","id":100,"result":{}}`),
		counts(Counters{Requests: 67, Refused: 2, Notifications: 1}))...)
}

// TestCloseFromHandlers: closing waits for nothing, least of all for itself,
// and what runs is told.
func TestCloseFromHandlers(t *testing.T) {
	var peer *Peer
	causes := make(chan error, 2)
	h := &script{
		request: func(ctx context.Context, in *Incoming) (Appender, error) {
			if in.Method == "close" {
				peer.Close(errBroken)
			}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return nil, nil
		},
		notify: func(*Incoming) { peer.Close(errBroken) },
	}
	for _, msg := range []string{`{"jsonrpc":"2.0","id":1,"method":"close"}`, `{"jsonrpc":"2.0","method":"close"}`} {
		play(t, Config{Handler: h},
			does(func(s *scene) { peer = s.peer }),
			asks("ping"), sends(`{"jsonrpc":"2.0","id":1,"method":"ping"}`),
			serverAsks("9", "wait"), does(func(s *scene) { s.peer.Deliver(0, []byte(msg), false) }),
			fails("ping", MaybeSent, errBroken), sends(),
			does(func(s *scene) {
				if err := <-causes; !errors.Is(err, errBroken) {
					s.t.Error(err)
				}
			}))
	}
}

// TestCourierIsBounded: a server that asks and does not read gets no more than
// a bounded number of refusals, and Deliver does not wait for it.
func TestCourierIsBounded(t *testing.T) {
	if maxUnsent != 256 {
		t.Errorf("%d answers wait at most", maxUnsent)
	}
	l := &stuckLink{stuck: make(chan struct{})}
	p := NewPeer(Config{Link: l})
	for i := range 10 * maxUnsent {
		p.Deliver(0, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i), false)
	}
	if n := p.Counters().Unsaid; n < 8*maxUnsent {
		t.Errorf("dropped %d replies", n)
	}
	p.Close(nil)
	close(l.stuck)
	synctest.Test(t, func(t *testing.T) {
		l := &stuckLink{stuck: make(chan struct{})}
		p := NewPeer(Config{Link: l})
		ask := func(id int) { p.Deliver(0, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, id), false) }
		ask(0)
		synctest.Wait() // its refusal is in the link
		for i := range maxUnsent {
			ask(i + 1)
		}
		if n := p.Counters().Unsaid; n != 0 {
			t.Errorf("dropped %d replies before the queue was full", n)
		}
		ask(maxUnsent + 1)
		if n := p.Counters().Unsaid; n != 1 {
			t.Errorf("dropped %d replies, want 1", n)
		}
		p.Close(nil)
		close(l.stuck)
		synctest.Wait()
		if n := p.Counters().Unsaid; n != 2 {
			t.Errorf("dropped %d replies, want 2 with the one that the link refused", n)
		}
	})
}

type stuckLink struct{ stuck chan struct{} }

func (l *stuckLink) Send(_ context.Context, m *Message) error {
	<-l.stuck
	m.Free()
	return ErrClosed
}

func (l *stuckLink) Cancel(uint32) bool { return false }

// TestLeavingDoesNotWait: the cancellation of a call leaves through the
// asyncSender, so a stuck link does not hold its caller.
func TestLeavingDoesNotWait(t *testing.T) {
	l := &stuckLink{stuck: make(chan struct{})}
	p := NewPeer(Config{Link: l})
	ctx, cancel := context.WithCancel(t.Context())
	c := p.newCall(ctx, &Call{Method: "ping"})
	if err := p.flight.open(c); err != nil {
		t.Fatal(err)
	}
	cancel()
	p.await(ctx, c)
	if _, err := p.outcome(c); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	p.Close(nil)
	close(l.stuck)
}

func TestTrace(t *testing.T) {
	var seen []string
	c := Config{Trace: func(sent bool, msg []byte) { seen = append(seen, fmt.Sprint(sent, " ", string(msg))) }}
	play(t, c, asks("ping"), answers(1, `1`), delivers(0, " ", abi.VerdictBlank), serverAsks(`1`, "x"))
	want := `true {"jsonrpc":"2.0","id":1,"method":"ping"}|false {"jsonrpc":"2.0","id":1,"result":1}|false  |` +
		`false {"jsonrpc":"2.0","id":1,"method":"x","params":{"a": 1}}|` +
		`true {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found"}}`
	if got := strings.Join(seen, "|"); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// TestMessageFacts: a transport is told what it needs beside the bytes.
func TestMessageFacts(t *testing.T) {
	l := &recorder{}
	p := NewPeer(Config{Link: l, Timeout: DefaultTimeout})
	p.Agree(Terms{Version: "2025-11-25", Epoch: 3})
	headers := []abi.Pair{{Key: "mcp-param-x", Value: "1"}}
	if _, err := p.Call(t.Context(), &Call{Method: "tools/call", Name: "add", Headers: headers}, nil); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if err := p.Notify(t.Context(), "notifications/initialized", nil); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	if _, err := p.Call(t.Context(), &Call{Method: "server/discover", Version: "2026-07-28", Timeout: -1}, nil); !errors.Is(err, errBroken) {
		t.Error(err)
	}
	p.Close(nil)
	want := []string{
		`request 1 tools/call add 2025-11-25 3 [{mcp-param-x 1}] exchange 1 urgent false`,
		`notification  notifications/initialized  2025-11-25 3 [] exchange 2 urgent false`,
		`request 3 server/discover  2026-07-28 3 [] exchange 3 urgent false`,
	}
	if !slices.Equal(l.facts, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(l.facts, "\n"), strings.Join(want, "\n"))
	}
}

// recorder notes the facts of messages and refuses them.
type recorder struct{ facts []string }

func (l *recorder) Send(_ context.Context, m *Message) error {
	payload, start := m.Payload()
	f, err := abi.DecodeFacts(payload[:start])
	if err != nil {
		return err
	}
	l.facts = append(l.facts, fmt.Sprint(f.Kind, " ", f.ID, " ", f.Method, " ", f.Name, " ", f.Version, " ", f.Epoch, " ", f.Headers,
		" exchange ", m.Exchange(), " urgent ", m.Urgent()))
	m.Free()
	return errBroken
}

func (l *recorder) Cancel(uint32) bool { return false }

// TestServerAsksAtLength: the bytes of the requests that are answered at once have a
// bound as well, to which one request alone is not held.
func TestServerAsksAtLength(t *testing.T) {
	asks := func(id string, bytes int) step {
		params := `["` + strings.Repeat("x", bytes-len(id)-len("wait")-len(`[""]`)) + `"]`
		return delivers(0, `{"jsonrpc":"2.0","id":`+id+`,"method":"wait","params":`+params+`}`, abi.VerdictRequest)
	}
	takesBack := func(id string) step {
		return delivers(0, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`, abi.VerdictNote)
	}
	const busy = `{"jsonrpc":"2.0","id":3,"error":{"code":-32603,"message":"busy: more than 32 MiB of requests would be answered at once"}}`
	play(t, Config{Handler: &script{request: byMethod}},
		asks(`1`, maxServingBytes-100), asks(`2`, 100), // to the byte
		takesBack(`2`), sends(),
		asks(`3`, 101), sends(busy),
		asks(`4`, 100),
		takesBack(`1`), takesBack(`4`), sends(),
		asks(`5`, maxServingBytes+1), sends(),
		asks(`3`, 20), sends(busy),
		takesBack(`5`), sends(),
		counts(Counters{Requests: 6, Refused: 2, Notifications: 4}))
}
