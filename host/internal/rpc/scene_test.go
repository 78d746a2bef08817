package rpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// scene is a peer on a link that a test plays the transport of. Everything
// happens in one synctest bubble: time passes only where a step says so, and
// every step ends when all goroutines have come to rest.
type scene struct {
	t     *testing.T
	peer  *Peer
	link  *stage
	calls map[string]*actor
	gone  []string // what Dropped saw
}

// actor is one caller.
type actor struct {
	cancel context.CancelCauseFunc
	ended  atomic.Pointer[outcome]
}

// outcome is what a call returned. That of one which waits is zero.
type outcome struct {
	done   bool
	result string
	err    error
}

func (a *actor) outcome() outcome {
	if o := a.ended.Load(); o != nil {
		return *o
	}
	return outcome{}
}

func (a *actor) end(result []byte, err error) {
	if !a.ended.CompareAndSwap(nil, &outcome{true, string(result), err}) {
		panic("a call ended twice")
	}
}

// stage is the link of a scene.
type stage struct {
	mu     sync.Mutex
	sent   []string // messages since the last look
	left   []uint32 // exchanges since the last look
	unsent bool     // Cancel says that the message had not left
	refuse error    // Send fails
	full   chan struct{}
}

func (l *stage) Send(ctx context.Context, m *Message) error {
	defer m.Free()
	l.mu.Lock()
	full, refuse := l.full, l.refuse
	l.mu.Unlock()
	if full != nil && !m.Urgent() {
		select {
		case <-full:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if refuse != nil {
		return refuse
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, string(m.Body()))
	return nil
}

func (l *stage) Cancel(exchange uint32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = append(l.left, exchange)
	return l.unsent
}

// A step is one thing that happens, or one thing that must be so.
type step func(*scene)

// play runs steps on a new peer and closes it.
func play(t *testing.T, c Config, steps ...step) {
	synctest.Test(t, func(t *testing.T) {
		s := &scene{t: t, link: &stage{}, calls: make(map[string]*actor)}
		c.Link = s.link
		var mu sync.Mutex
		c.Dropped = func(why error, _ []byte) {
			mu.Lock()
			defer mu.Unlock()
			s.gone = append(s.gone, why.Error())
		}
		s.peer = NewPeer(c)
		for n, step := range steps {
			step(s)
			synctest.Wait()
			if t.Failed() {
				t.Fatalf("at step %d", n)
			}
		}
		s.peer.Close(nil)
		synctest.Wait()
		for name, a := range s.calls {
			if !a.outcome().done {
				t.Errorf("call %s has not ended after Close", name)
			}
		}
	})
}

func requests(name string, r Call, params Appender) step {
	return func(s *scene) {
		ctx, cancel := context.WithCancelCause(s.t.Context())
		a := &actor{cancel: cancel}
		s.calls[name] = a
		go func() {
			a.end(s.peer.Call(ctx, &r, params))
		}()
	}
}

// asks is requests for a method without params.
func asks(name string) step { return requests(name, Call{Method: name}, nil) }

func cancels(name string) step { return func(s *scene) { s.calls[name].cancel(nil) } }

// delivers a message in a buffer that is used for something else afterwards.
func delivers(exchange uint32, msg string, want abi.Verdict) step {
	return func(s *scene) {
		buffer := []byte(msg)
		if got := s.peer.Deliver(exchange, buffer, false); got != want {
			s.t.Errorf("delivered %.80q: got %v, want %v", msg, got, want)
		}
		for i := range buffer {
			buffer[i] = '#'
		}
	}
}

// answers delivers a result for an id over the shared channel.
func answers(id int, result string) step {
	return delivers(0, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, result), abi.VerdictAnswer)
}

// sends wants exactly these messages to have left since the last look.
func sends(want ...string) step {
	return func(s *scene) {
		s.link.mu.Lock()
		got := s.link.sent
		s.link.sent = nil
		s.link.mu.Unlock()
		if !slices.Equal(got, want) {
			s.t.Errorf("sent\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// leaves wants exactly these exchanges to have been cancelled since the last look.
func leaves(want ...uint32) step {
	return func(s *scene) {
		s.link.mu.Lock()
		got := s.link.left
		s.link.left = nil
		s.link.mu.Unlock()
		if !slices.Equal(got, want) {
			s.t.Errorf("cancelled %v, want %v", got, want)
		}
	}
}

func waits(name string) step {
	return func(s *scene) {
		if a := s.calls[name].outcome(); a.done {
			s.t.Errorf("%s ended: %s, %v", name, a.result, a.err)
		}
	}
}

// gets wants a call to have ended with a result.
func gets(name, want string) step {
	return func(s *scene) {
		if a := s.calls[name].outcome(); !a.done || a.err != nil || a.result != want {
			s.t.Errorf("%s: done %v, result %s, error %v; want %s", name, a.done, a.result, a.err, want)
		}
	}
}

// fails wants a call to have ended without an answer, for a reason.
func fails(name string, sent Sent, why error) step {
	return func(s *scene) {
		a := s.calls[name].outcome()
		var failure *CallError
		switch {
		case !a.done:
			s.t.Errorf("%s still waits", name)
		case !errors.As(a.err, &failure):
			s.t.Errorf("%s: got %s, %v; want a *CallError", name, a.result, a.err)
		case failure.Sent != sent || !errors.Is(a.err, why):
			s.t.Errorf("%s: got %v (%d), want %v (%d)", name, a.err, failure.Sent, why, sent)
		case errors.Is(a.err, ErrNotSent) != (sent == NotSent):
			s.t.Errorf("%s: ErrNotSent does not tell that it was %d", name, sent)
		}
	}
}

// refused wants a call to have ended with the server's own error.
func refused(name string, want Error) step {
	return func(s *scene) {
		var got *Error
		if a := s.calls[name].outcome(); !a.done || !errors.As(a.err, &got) || got.Error() != want.Error() || string(got.Data) != string(want.Data) {
			s.t.Errorf("%s: got %v, want %v", name, a.err, &want)
		}
	}
}

func passes(d time.Duration) step { return func(*scene) { time.Sleep(d) } }

// quiet expects that no call is pending, or one.
func quiet(want bool) step {
	return func(s *scene) {
		if got := s.peer.Quiet(); got != want {
			s.t.Errorf("quiet is %v", got)
		}
	}
}

func agrees(t Terms) step { return func(s *scene) { s.peer.Agree(t) } }

func does(f func(*scene)) step { return f }

// counts wants the counters to be so.
func counts(want Counters) step {
	return func(s *scene) {
		if got := s.peer.Counters(); got != want {
			s.t.Errorf("counters\n got %+v\nwant %+v", got, want)
		}
	}
}

// drops wants the dropped messages to have been dropped for these reasons.
func drops(want ...string) step {
	return func(s *scene) {
		got := s.gone
		s.gone = nil
		if len(got) != len(want) {
			s.t.Errorf("dropped %q, want %q", got, want)
			return
		}
		for i := range got {
			if !strings.Contains(got[i], want[i]) {
				s.t.Errorf("dropped for %q, want %q", got[i], want[i])
			}
		}
	}
}
