package rpc

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

func expires(exchange uint32) step { return func(s *scene) { s.peer.Expired(exchange) } }

func forgets(epoch uint32) step { return func(s *scene) { s.peer.Forget(epoch) } }

// forgot wants these epochs to be over, and those after them not.
func forgot(epochs uint32) step {
	return func(s *scene) {
		for epoch := range uint32(5) {
			if got := s.peer.Forgot(epoch); got != (epoch > 0 && epoch <= epochs) {
				s.t.Errorf("forgot epoch %d: %v", epoch, got)
			}
		}
	}
}

// TestExpired has a server forget its session, in exchanges that wait and in
// those that ended long ago.
func TestExpired(t *testing.T) {
	first, second := Terms{Version: "v", Epoch: 1}, Terms{Version: "v", Epoch: 2}
	play(t, Config{},
		asks("initialize"), answers(1, `{}`), expires(1), forgot(0),
		agrees(first), expires(1), forgot(0), // the handshake belongs to what was before
		asks("a"), asks("b"), answers(2, `1`),
		expires(2), forgot(1), expires(3), forgot(1),
		asks("again"), agrees(second), forgot(1),
		expires(1), expires(2), expires(3), expires(4), forgot(1),
		asks("c"), expires(5), forgot(2),
		agrees(Terms{Epoch: 3}), expires(0), forgot(3),
		agrees(Terms{Epoch: 4}), forgets(3), forgot(3), asks("d"), agrees(Terms{Epoch: 4, AllowBatch: true}), expires(6), forgot(4))
	play(t, Config{}, agrees(first), forgets(1), forgot(1), agrees(second), forgets(2), forgets(1), forgot(2))
}

// TestExpiredFarBack counts beyond the numbers of exchanges.
func TestExpiredFarBack(t *testing.T) {
	play(t, Config{},
		does(func(s *scene) { s.peer.flight.lastID = 1<<32 - 2 }),
		agrees(Terms{Epoch: 1}), asks("a"), agrees(Terms{Epoch: 2}), asks("b"),
		expires(1<<32-1), forgot(0), expires(1), forgot(2))
}

// TestSessionGoesOn holds that the ids of a session are used once, whichever peer
// gives them out, and that its epoch begins with the first message of the next one.
func TestSessionGoesOn(t *testing.T) {
	before := NewPeer(Config{Link: &recorder{}})
	if before.Last() != 0 {
		t.Errorf("%d messages before the first", before.Last())
	}
	for range 3 {
		before.Notify(t.Context(), "a", nil)
	}
	play(t, Config{After: before.Last()},
		agrees(Terms{Version: "v", Epoch: 2}), asks("b"), sends(`{"jsonrpc":"2.0","id":4,"method":"b"}`),
		expires(3), forgot(0), expires(4), forgot(2))
}

// TestTermsOfANumber holds that a message has the terms under which it got its
// number, even if the handshake is over before it is written.
func TestTermsOfANumber(t *testing.T) {
	l := &recorder{}
	p := NewPeer(Config{Link: l})
	p.Agree(Terms{Version: "old", Epoch: 1})
	c := p.newCall(t.Context(), &Call{Method: "a"})
	if err := p.flight.open(c); err != nil {
		t.Fatal(err)
	}
	p.Agree(Terms{Version: "new", Epoch: 2})
	p.send(c, &Call{Method: "a"}, nil)
	p.Call(t.Context(), &Call{Method: "b"}, nil)
	p.Call(t.Context(), &Call{Method: "initialize"}, nil)
	p.Close(nil)
	want := []string{"a  old 1", "b  new 2", "initialize   2"}
	for i, facts := range l.facts {
		if !strings.Contains(facts, want[i]) {
			t.Errorf("sent %s, want %s", facts, want[i])
		}
	}
}

// TestNoReplies holds that a server which must not ask gets no word of reply:
// no result, no refusal, and none to what it had asked before it was known.
func TestNoReplies(t *testing.T) {
	play(t, Config{Handler: &script{request: byMethod}},
		serverAsks(`1`, "wait"), agrees(Terms{NoReplies: true}),
		does(func(s *scene) {
			for i := range 2 * maxServing {
				s.peer.Deliver(0, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i), false)
			}
		}),
		delivers(3, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, abi.VerdictRequest),
		drops(slices.Repeat([]string{"must not send requests"}, 2*maxServing+1)...),
		delivers(0, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, abi.VerdictNote),
		sends(), counts(Counters{Requests: 2*maxServing + 2, Refused: 2*maxServing + 1, Notifications: 1}))
	play(t, Config{Handler: &script{request: byMethod}},
		serverAsks(`1`, "wait"), agrees(Terms{NoReplies: true}),
		does(func(s *scene) { s.peer.serving.cancel(errBroken) }), sends())
}

func TestHTTPStatus(t *testing.T) {
	c := Config{Status: func(exchange uint32) (int, time.Duration) { return 400 + int(exchange), 0 }}
	fault := func(id int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-1,"message":"no"}}`, id)
	}
	status := func(name string, want int) step {
		return func(s *scene) {
			var e *Error
			if err := s.calls[name].outcome().err; !errors.As(err, &e) || e.HTTP != want || e.Error() != "MCP error -1: no" {
				s.t.Errorf("%s: %v, want status %d", name, err, want)
			}
		}
	}
	over := func(exchange uint32) step { return func(s *scene) { s.peer.Done(exchange) } }
	says := func(name, want string) step {
		return func(s *scene) {
			if err := s.calls[name].outcome().err; fmt.Sprint(err) != want {
				s.t.Errorf("%v, want %s", err, want)
			}
		}
	}
	play(t, Config{Status: func(exchange uint32) (int, time.Duration) { return []int{0, 200, 204, 405}[exchange], 0 }},
		asks("a"), delivers(1, `{nope`, abi.VerdictMalformed), drops("offset 1"), over(1),
		says("a", "a: malformed message: unexpected byte at offset 1, and the body of HTTP 200 has no other answer"),
		asks("b"), over(2), says("b", "b: no response received: the body of HTTP 204 ended without the answer"),
		asks("c"), over(3), says("c", "c: no response received: the stream ended without the answer, and the server refused to go on with it: HTTP 405"))
	refusal := &StatusError{HTTP: 404, Refused: true, Err: errBroken}
	play(t, c,
		asks("a"), delivers(1, fault(1), abi.VerdictAnswer), status("a", 401),
		asks("b"), delivers(0, fault(2), abi.VerdictAnswer), status("b", 0),
		asks("c"), does(func(s *scene) { s.peer.Failed(3, refusal) }), fails("c", MaybeSent, errBroken),
		does(func(s *scene) {
			var e *StatusError
			if err := s.calls["c"].outcome().err; !errors.As(err, &e) || e != refusal || err.Error() != "c: pipe is broken" {
				s.t.Error(err)
			}
		}))
}
