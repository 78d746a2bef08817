package session

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

type trackerKey struct{} // holds the *tracker of a call

// trackers holds the calls whose callers want their progress.
type trackers struct {
	mu     sync.Mutex
	last   uint64
	active map[uint64]*tracker // by token
	labels []labelled          // of the newest calls that have one: a notification may come after the answer
}

// labelled is a call with the label that its caller gave it.
type labelled struct {
	token uint64
	label string
}

// maxLabels is how many calls with a label are remembered.
const maxLabels = 256

// label returns the label of the call that a progress notification is about, or "".
func (t *trackers) label(params []byte) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.labels) == 0 {
		return ""
	}
	token, _, ok := readProgress(params)
	at := slices.IndexFunc(t.labels, func(l labelled) bool { return ok && l.token == token })
	if at < 0 {
		return ""
	}
	return t.labels[at].label
}

// track gives a call one token for all its requests, if its caller wants to hear the progress of
// the call: through tell or through pass. If both are nil, it does nothing. The returned function
// ends the tracking.
func (s *Session) track(ctx context.Context, tell func(mcp.Progress), pass func(params json.RawMessage)) (context.Context, func()) {
	if tell == nil && pass == nil {
		return ctx, func() {}
	}
	all, t := &s.trackers, &tracker{tell: tell, pass: pass, done: math.Inf(-1)}
	all.mu.Lock()
	if all.active == nil {
		all.active = make(map[uint64]*tracker)
	}
	all.last++
	t.token = all.last
	all.active[t.token] = t
	if label := optionsOf(ctx).Label; label != "" {
		if len(all.labels) == maxLabels {
			all.labels = slices.Delete(all.labels, 0, 1)
		}
		all.labels = append(all.labels, labelled{t.token, label})
	}
	all.mu.Unlock()
	return context.WithValue(ctx, trackerKey{}, t), func() {
		all.mu.Lock()
		delete(all.active, t.token)
		all.mu.Unlock()
		t.finish(ctx.Err() != nil)
	}
}

// hear passes a progress notification to its call. If no call wants progress, hear does not read
// the notification.
func (t *trackers) hear(params []byte) {
	t.mu.Lock()
	wanted := len(t.active) > 0
	t.mu.Unlock()
	if !wanted {
		return
	}
	token, p, ok := readProgress(params)
	if !ok {
		return
	}
	t.mu.Lock()
	k := t.active[token]
	t.mu.Unlock()
	if k != nil {
		k.hear(p, params)
	}
}

// readProgress reads the params of a notification with one of our tokens. Older descriptions of the
// protocol spelled two of the members differently.
func readProgress(params []byte) (token uint64, p mcp.Progress, ok bool) {
	r := strictjson.Read(params)
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

// tracker follows the progress of one call.
type tracker struct {
	token uint64
	tell  func(mcp.Progress)    // nil if pass is set
	pass  func(json.RawMessage) // gets the params as the server wrote them

	mu      sync.Mutex
	done    float64
	idle    *time.Timer // of the request under way, or nil
	rest    time.Duration
	since   time.Time     // when the clock began
	granted time.Duration // more than rest since then
	held    int           // how many questions to the person hold the clock
	waiting []word        // not yet passed to the callback
	size    int           // bytes of the params that wait
	telling chan struct{} // closed when the callback has returned; nil while none runs
	over    bool
}

// word is a progress notification in the form that the callback of the tracker gets.
type word struct {
	progress mcp.Progress
	params   json.RawMessage
}

// Bounds of the notifications that wait for the callback. The answer of a call waits until the
// callback has received them, so they must be few.
const (
	maxWords   = 32
	maxMessage = 4 << 10 // bytes: more than a person reads
	maxParams  = 1 << 20 // bytes of the params of all that wait but the last
)

// hear queues a progress notification and gives the request more time. It ignores a notification
// that reports no more than the last one, because a server that repeats itself must not hold a call
// for ever.
func (t *tracker) hear(p mcp.Progress, params []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over || !(p.Done > t.done) {
		return
	}
	t.done = p.Done
	t.rewind()
	w := word{progress: p}
	if t.pass != nil {
		w = word{params: bytes.Clone(params)}
	}
	if n := len(t.waiting) - 1; n+1 == maxWords || t.size > maxParams {
		t.size -= len(t.waiting[n].params)
		t.waiting = t.waiting[:n]
	}
	t.size += len(w.params)
	t.waiting = append(t.waiting, w)
	if t.telling == nil {
		t.telling = make(chan struct{})
		go t.speak()
	}
}

// speak passes the waiting notifications to the callback, and returns when none wait.
func (t *tracker) speak() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.waiting) > 0 {
		w := t.waiting[0]
		t.waiting = slices.Delete(t.waiting, 0, 1)
		t.size -= len(w.params)
		t.mu.Unlock()
		if t.pass != nil {
			t.pass(w.params)
		} else {
			t.tell(w.progress)
		}
		t.mu.Lock()
	}
	close(t.telling)
	t.telling = nil
}

// finish returns when the callback has received every notification. If left is true, the caller has
// left, and finish returns as soon as the callback will receive no more.
func (t *tracker) finish(left bool) {
	t.mu.Lock()
	t.over = true
	if left {
		t.waiting, t.size = nil, 0
	}
	telling := t.telling
	t.mu.Unlock()
	if telling != nil {
		<-telling
	}
}

// run makes one request of the call. It gives the request a timeout of its own, because the peer's
// timeout cannot begin anew.
func (t *tracker) run(ctx context.Context, l *agreedConn, call *rpc.Call, params rpc.Appender) ([]byte, error) {
	within, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	rest := cmp.Or(call.Timeout, rpc.DefaultTimeout)
	call.Timeout = -1
	if rest > 0 {
		defer t.begin(rest, l.aside, func() { cancel(fmt.Errorf("%w after %v without progress", rpc.ErrTimeout, rest)) })()
	}
	if longest := l.maxTimeout; longest > 0 {
		defer time.AfterFunc(longest, func() { cancel(fmt.Errorf("%w after %v, progress or not", ErrLongest, longest)) }).Stop()
	}
	text, err := l.Peer.Call(within, call, params)
	if failure, ok := err.(*rpc.CallError); ok && ctx.Err() == nil && within.Err() != nil {
		failure.Err = context.Cause(within)
	}
	return text, err
}

// begin starts the clock of a request. If the clock runs out, it calls late, which ends the
// request. What aside returns (see [ConnectOptions]) does not count. The caller calls stop when the
// request is over.
func (t *tracker) begin(rest time.Duration, aside func(since time.Time) time.Duration, late func()) (stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done, t.rest, t.since, t.granted = math.Inf(-1), rest, time.Now(), 0
	t.idle = time.AfterFunc(rest, func() {
		if !t.goesOn(aside) {
			late()
		}
	})
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

// goesOn gives the request the time in which the caller was busy since the clock began, and reports
// whether there was any more.
func (t *tracker) goesOn(aside func(since time.Time) time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if aside == nil || t.idle == nil {
		return false
	}
	more := aside(t.since) - t.granted
	if more <= 0 {
		return false
	}
	const pause = 10 * time.Millisecond // between two looks while the caller is busy
	more = max(more, pause)
	t.granted += more
	t.idle.Reset(more)
	return true
}

// hold stops the clocks of the tracked calls while the server waits for a callback: a person who
// fills in a form takes minutes, in which the server cannot answer. In the legacy era a question
// does not name its call, so hold stops the clocks of all calls. release begins the clocks anew.
// The limit of a call as a whole runs on.
func (t *trackers) hold() (release func()) {
	t.mu.Lock()
	held := slices.Collect(maps.Values(t.active))
	t.mu.Unlock()
	for _, k := range held {
		k.hold(1)
	}
	return func() {
		for _, k := range held {
			k.hold(-1)
		}
	}
}

func (t *tracker) hold(more int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held += more
	if t.held > 0 && t.idle != nil {
		t.idle.Stop()
	}
	t.rewind()
}

// rewind begins the clock anew, unless it is held. The caller holds mu.
func (t *tracker) rewind() {
	if t.idle != nil && t.held == 0 {
		t.idle.Reset(t.rest)
		t.since, t.granted = time.Now(), 0
	}
}
