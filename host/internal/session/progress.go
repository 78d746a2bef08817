package session

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// WithProgress returns a context whose calls ask the server how far they are and
// hear it with f (2026-07-28/basic/patterns/progress). Each word of progress
// begins the request's timeout anew, up to [Config.MaxTimeout] in all.
//
// f is called for one word after the other, on a goroutine of its own, and
// holds up nothing but itself: neither other calls nor other notifications. For
// an f that is slower than the server the newest word takes the place of the
// one before. f may use the session. A call returns only when f has heard what
// came before the answer, so f must not wait for the call itself; a call that is
// cancelled has f hear nothing more.
func WithProgress(ctx context.Context, f func(mcp.Progress)) context.Context {
	return context.WithValue(ctx, progressKey{}, f)
}

type (
	progressKey struct{} // holds what WithProgress was given
	trackerKey  struct{} // holds the *tracker of a call
)

// trackers are the calls whose callers want to know their progress.
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
	return context.WithValue(ctx, trackerKey{}, t), func() {
		s.trackers.remove(t)
		t.finish(ctx.Err() != nil)
	}
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
	defer t.mu.Unlock()
	delete(t.active, k.token)
}

// find returns the call that the params of a notification are about, or nil.
func (t *trackers) find(params []byte) (*tracker, mcp.Progress) {
	if t.none() {
		return nil, mcp.Progress{}
	}
	token, p, ok := readProgress(params)
	if !ok {
		return nil, p
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.active[token], p
}

func (t *trackers) none() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.active) == 0
}

// hear takes a word of progress to the call that it is about.
func (t *trackers) hear(params []byte) {
	if k, p := t.find(params); k != nil {
		k.hear(p)
	}
}

// readProgress reads the params of a notification about a token of ours. Older
// descriptions of the protocol spelled two of the members otherwise.
func readProgress(params []byte) (token uint64, p mcp.Progress, ok bool) {
	r := strictjson.Read(params)
	if r.Kind() != '{' {
		return 0, p, false
	}
	for key := range r.Object() {
		switch string(key) {
		case "progressToken", "token":
			n, exact := strictjson.Int(r.Raw())
			token, ok = uint64(n), exact && n > 0
		case "progress", "value":
			p.Done = r.Float()
		case "total":
			p.Total = number(r)
		case "message":
			if !r.Null() {
				p.Message = shorten(r.String(), maxMessage)
			}
		}
	}
	return token, p, ok && r.Err() == nil
}

// tracker is the progress of one call.
type tracker struct {
	token uint64
	tell  func(mcp.Progress)

	mu      sync.Mutex
	done    float64
	idle    *time.Timer // of the request under way, or nil
	rest    time.Duration
	held    int            // why the clock stands still: questions to the person
	waiting []mcp.Progress // what has yet to be told
	telling chan struct{}  // closed when the callback has returned; nil while none runs
	over    bool
}

// Bounds of the words of progress that wait to be told. An answer waits behind
// them, and never behind more.
const (
	maxWords   = 32
	maxMessage = 4 << 10 // bytes: what a person may want to read at most
)

// hear takes a word of progress and gives the request more time. Progress that
// does not go on does not count: a server must not hold a call for ever by saying the
// same.
func (t *tracker) hear(p mcp.Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || !(p.Done > t.done) {
		return
	}
	t.done = p.Done
	t.rewind()
	if len(t.waiting) == maxWords {
		t.waiting = t.waiting[:maxWords-1]
	}
	t.waiting = append(t.waiting, p)
	if t.telling == nil {
		t.telling = make(chan struct{})
		go t.speak()
	}
}

// speak tells what waits, and ends when there is nothing more.
func (t *tracker) speak() {
	for p, ok := t.next(); ok; p, ok = t.next() {
		t.tell(p)
	}
}

func (t *tracker) next() (p mcp.Progress, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		close(t.telling)
		t.telling = nil
		return p, false
	}
	p = t.waiting[0]
	t.waiting = slices.Delete(t.waiting, 0, 1)
	return p, true
}

// finish returns when everything has been told, or, if the caller has left, when
// nothing more will be.
func (t *tracker) finish(left bool) {
	t.mu.Lock()
	t.over = true
	if left {
		t.waiting = nil
	}
	telling := t.telling
	t.mu.Unlock()
	if telling != nil {
		<-telling
	}
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
	if t.held > 0 {
		t.idle.Stop()
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.idle.Stop()
		t.idle = nil
	}
}
