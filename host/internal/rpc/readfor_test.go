package rpc

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// unread is a link whose server answers what a caller reads.
type unread struct {
	peer *Peer
	sent chan uint32
}

func (l *unread) Send(_ context.Context, m *Message) error {
	l.sent <- m.Exchange()
	m.Free()
	return nil
}

func (l *unread) Cancel(uint32) bool { return false }

func (l *unread) answer(id uint32) {
	l.peer.Deliver(0, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`, id), false)
}

// A caller reads until its answer is there, and is told of others that wait.
func TestACallerThatIsAloneReads(t *testing.T) {
	l := &unread{sent: make(chan uint32, 2)}
	over := make(chan error)
	var reads atomic.Int32
	l.peer = NewPeer(Config{Link: l, ReadFor: func(w hostio.Waiter) {
		if reads.Add(1) > 1 {
			return // the other one, which is alone by now
		}
		if w.Over() || w.Others() {
			t.Errorf("it has just begun: over %v, others %v", w.Over(), w.Others())
		}
		first := <-l.sent
		go func() {
			_, err := l.peer.Call(t.Context(), &Call{Method: "another"}, nil)
			over <- err
		}()
		another := <-l.sent
		if !w.Others() {
			t.Error("another call waits, and it is not told")
		}
		if l.answer(first); !w.Over() || !w.Others() {
			t.Errorf("it has its answer: over %v, others %v", w.Over(), w.Others())
		}
		if l.answer(another); w.Others() {
			t.Error("no call waits any more")
		}
	}})
	if _, err := l.peer.Call(t.Context(), &Call{Method: "one"}, nil); err != nil {
		t.Error(err)
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// Who has given up is over, and a call in background never reads.
func TestWhoReads(t *testing.T) {
	l := &unread{sent: make(chan uint32, 2)}
	ctx, cancel := context.WithCancel(t.Context())
	reads := 0
	l.peer = NewPeer(Config{Link: l, ReadFor: func(w hostio.Waiter) {
		reads++
		if cancel(); !w.Over() {
			t.Error("it gave up, and is not over")
		}
	}})
	l.peer.Call(ctx, &Call{Method: "given up"}, nil)
	l.peer.Call(ctx, &Call{Method: "background", Background: true}, nil)
	if reads != 1 {
		t.Errorf("%d callers have read", reads)
	}
}
