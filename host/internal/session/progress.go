package session

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/jsontext"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// WithProgress returns a context whose calls ask the server how far they are and
// hear it with f (2026-07-28/basic/patterns/progress). Each word of progress
// begins the request's timeout anew, up to [Config.MaxTimeout] in all.
//
// f is called for one notification after the other; the notifications behind it
// wait meanwhile, answers do not. It may use the session. A call returns only when
// f has, so f must not wait for the call itself. What a server has told when its
// answer comes may be told no more.
func WithProgress(ctx context.Context, f func(mcp.Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, f)
}

type (
	progressKey struct{} // holds what WithProgress was given
	trackerKey  struct{} // holds the *tracker of a call
)

// trackers are the calls whose progress somebody wants to know.
type trackers struct {
	mu     sync.Mutex
	last   uint64
	active map[uint64]*tracker // by token
}

// track gives a call a token, if its caller wants to know its progress, for all
// the requests that it takes. The caller says when it is over.
func (s *Session) track(ctx context.Context) (context.Context, func()) {
	f, _ := ctx.Value(progressKey{}).(func(mcp.Progress))
	if f == nil {
		return ctx, func() {}
	}
	t := &tracker{tell: f, done: math.Inf(-1)}
	s.trackers.add(t)
	return context.WithValue(ctx, trackerKey{}, t), func() { s.trackers.remove(t) }
}

func trackerOf(ctx context.Context) *tracker {
	t, _ := ctx.Value(trackerKey{}).(*tracker)
	return t
}

func (t *trackers) add(k *tracker) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active == nil {
		t.active = make(map[uint64]*tracker)
	}
	t.last++
	k.token = t.last
	t.active[k.token] = k
}

func (t *trackers) remove(k *tracker) {
	t.mu.Lock()
	delete(t.active, k.token)
	t.mu.Unlock()
	k.mu.Lock() // the callback has returned then
	defer k.mu.Unlock()
	k.tell = nil
}

// hear takes the params of a notification to the call that they are about.
func (t *trackers) hear(params []byte) {
	token, p, ok := readProgress(params)
	if !ok {
		return
	}
	t.mu.Lock()
	k := t.active[token]
	t.mu.Unlock()
	if k != nil {
		k.hear(p)
	}
}

// readProgress reads the params of a notification about a token of ours. Older
// descriptions of the protocol spelled two of the members otherwise.
func readProgress(params []byte) (token uint64, p mcp.Progress, ok bool) {
	r := jsontext.Read(params)
	if r.Kind() != '{' {
		return 0, p, false
	}
	for key := range r.Object() {
		switch string(key) {
		case "progressToken", "token":
			n, exact := jsontext.Int(r.Raw())
			token, ok = uint64(n), exact && n > 0
		case "progress", "value":
			p.Done = r.Float()
		case "total":
			p.Total = number(r)
		case "message":
			if !r.Null() {
				p.Message = r.String()
			}
		}
	}
	return token, p, ok && r.Err() == nil
}

// tracker is the progress of one call.
type tracker struct {
	token uint64

	mu   sync.Mutex
	tell func(mcp.Progress) // nil when the call is over
	done float64
	idle *time.Timer // of the request under way, or nil
	rest time.Duration
}

// hear tells the caller, and gives the request more time. Progress that does not
// go on is none: a server must not hold a call for ever by saying the same.
func (t *tracker) hear(p mcp.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tell == nil || !(p.Done > t.done) {
		return
	}
	t.done = p.Done
	if t.idle != nil {
		t.idle.Reset(t.rest)
	}
	t.tell(p)
}

// run makes one request of the call. It has a timeout of its own, which the
// peer's cannot be: that one does not begin anew.
func (t *tracker) run(ctx context.Context, peer *rpc.Peer, call rpc.Call, longest time.Duration) ([]byte, error) {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	rest := call.Timeout
	call.Timeout = -1
	if rest == 0 {
		rest = rpc.DefaultTimeout
	}
	if rest > 0 {
		defer t.begin(rest, func() { cancel(fmt.Errorf("%w after %v without progress", rpc.ErrTimeout, rest)) })()
	}
	if longest > 0 {
		defer time.AfterFunc(longest, func() { cancel(fmt.Errorf("%w after %v, progress or not", rpc.ErrTimeout, longest)) }).Stop()
	}
	text, err := peer.Call(within, call)
	if failure, ok := err.(*rpc.CallError); ok && ctx.Err() == nil && within.Err() != nil {
		failure.Err = context.Cause(within)
	}
	return text, err
}

// begin starts the clock of a request, which late stops; the caller stops it.
func (t *tracker) begin(rest time.Duration, late func()) (stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done, t.rest = math.Inf(-1), rest
	t.idle = time.AfterFunc(rest, late)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.idle.Stop()
		t.idle = nil
	}
}
