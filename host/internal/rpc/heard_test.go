package rpc

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// mute is a link whose server answers nothing.
type mute struct{}

func (mute) Send(_ context.Context, m *Message) error { m.Free(); return nil }
func (mute) Cancel(uint32) bool                       { return false }

// TestHeard says when a connection was last heard of: by any message, and all the time
// that a call waits, unless it waits in background.
func TestHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPeer(Config{Link: mute{}, Timeout: -1})
		defer p.Close(nil)
		born := time.Now()
		want := func(what string, at time.Time) {
			t.Helper()
			if got := p.Heard(); !got.Equal(at) {
				t.Errorf("%s: heard at %v; want %v", what, got.Sub(born), at.Sub(born))
			}
		}
		time.Sleep(time.Minute)
		want("at first", born)
		if v := p.Deliver(0, []byte(`{"jsonrpc":"2.0","method":"notifications/x"}`), false); v == abi.VerdictBlank {
			t.Error(v)
		}
		told := time.Now()
		time.Sleep(time.Minute)
		want("a notification", told)
		ctx, cancel := context.WithCancel(t.Context())
		go p.Call(ctx, &Call{Method: "listen", Background: true}, nil)
		synctest.Wait()
		want("a call in background", told)
		go p.Call(ctx, &Call{Method: "work"}, nil)
		synctest.Wait()
		time.Sleep(time.Hour)
		want("a call", time.Now())
		cancel()
		synctest.Wait()
		want("after the calls", told)
	})
}

// TestHeardOfQueuedNotifications: while notifications queue behind a handler that hangs, the time of
// the first of them stands, and the first message after them is heard again.
func TestHeardOfQueuedNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hangingHandler(make(chan struct{}))
		p := NewPeer(Config{Link: mute{}, Timeout: -1, Handler: h})
		defer p.Close(nil)
		deliver := func() time.Time {
			p.Deliver(0, []byte(`{"jsonrpc":"2.0","method":"notifications/x"}`), false)
			return time.Now()
		}
		deliver() // the handler hangs in this one
		synctest.Wait()
		time.Sleep(time.Minute)
		first := deliver()
		time.Sleep(time.Minute)
		deliver()
		if got := p.Heard(); !got.Equal(first) {
			t.Errorf("heard at %v; want %v", got, first)
		}
		close(h)
		synctest.Wait()
		if last := deliver(); !p.Heard().Equal(last) {
			t.Errorf("after the queue: heard at %v; want %v", p.Heard(), last)
		}
	})
}

// hangingHandler keeps the first notification until it is closed.
type hangingHandler chan struct{}

func (h hangingHandler) Request(context.Context, *Incoming) (Appender, error) {
	return nil, errors.ErrUnsupported
}
func (h hangingHandler) Notify(*Incoming)       { <-h }
func (h hangingHandler) Preempt(string, []byte) {}
