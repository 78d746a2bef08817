package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// wild is a link whose server does what it likes: it answers from goroutines
// of its own, late, twice, wrongly, for others, or not at all.
type wild struct {
	peer     *Peer
	requests chan asked
}

// asked is a request as the server sees it. Its tag is what only its caller knows.
type asked struct {
	id  uint32
	tag string
}

func (l *wild) Send(ctx context.Context, m *Message) error {
	defer m.Free()
	if m.Method != "call" {
		return nil
	}
	_, tag, _ := bytes.Cut(m.Body(), []byte(`"params":`))
	request := asked{m.Exchange(), string(bytes.TrimSuffix(tag, []byte("}")))}
	if rand.IntN(50) == 0 {
		return errBroken
	}
	select {
	case l.requests <- request:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *wild) Cancel(uint32) bool { return rand.IntN(2) == 0 }

func (l *wild) serve() {
	for request := range l.requests {
		l.answer(request.id, request.tag)
	}
}

func (l *wild) answer(id uint32, tag string) {
	good := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":%s}`, id, tag)
	switch rand.IntN(12) {
	case 0: // never
	case 1:
		l.peer.Deliver(id, good, false)
		l.peer.Deliver(0, good, false)
	case 2:
		l.peer.Deliver(0, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"%d","result":1}`, id), false)
	case 3:
		l.peer.Deliver(id, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":1}`, id+1), false)
	case 4:
		l.peer.Done(id)
	case 5:
		l.peer.Failed(id, errBroken)
	case 6:
		l.peer.Deliver(0, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{]}`, id), false)
	case 7:
		l.peer.Deliver(0, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":"no"}}`, id), false)
	case 8:
		l.peer.TooBig(0, good, good)
	default:
		l.peer.Deliver(0, good, false)
	}
}

// TestHammer: whatever callers and servers do at once, every call returns, once,
// and a result is its own.
func TestHammer(t *testing.T) {
	const rounds, callers, calls = 6, 16, 100
	for range rounds {
		l := &wild{requests: make(chan asked, 4)}
		p := NewPeer(Config{Link: l, Timeout: 20 * time.Millisecond})
		l.peer = p
		var servers, users sync.WaitGroup
		for range 4 {
			servers.Go(l.serve)
		}
		var returned, tags atomic.Int64
		for range callers {
			users.Go(func() {
				for range calls {
					hammerOnce(t, p, fmt.Sprintf(`[%d]`, tags.Add(1)))
					returned.Add(1)
				}
			})
		}
		if rand.IntN(2) == 0 {
			servers.Go(func() { p.Close(errBroken) })
		}
		users.Wait()
		p.flight.mu.Lock()
		pending := len(p.flight.pending) // before Close, which takes out what is left
		p.flight.mu.Unlock()
		p.Close(nil)
		close(l.requests)
		servers.Wait()
		if pending != 0 || returned.Load() != callers*calls {
			t.Fatalf("%d calls returned, %d are pending", returned.Load(), pending)
		}
	}
}

func hammerOnce(t *testing.T, p *Peer, tag string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if rand.IntN(4) == 0 {
		go cancel()
	}
	result, err := p.Call(ctx, &Call{Method: "call"}, raw(tag))
	var failure *CallError
	var answer *Error
	switch {
	case err == nil:
		if string(result) != tag {
			t.Errorf("asked %s, got %s", tag, result)
		}
	case !errors.As(err, &failure) && !errors.As(err, &answer):
		t.Errorf("got %v", err)
	}
}
