package manager

import (
	"context"
	"slices"
	"sync"
	"time"
)

// The limits of a dialLimiter.
const (
	// parallel is how many dials may be in their costly beginning at a time.
	parallel = 16

	// burst is how long that beginning is. After it, a dial that is not done waits
	// for its server and costs nothing. So a hundred servers that never answer delay
	// the next one for a moment only.
	burst = 2 * time.Second

	// maxRetries is how many servers that have failed may be tried again within any
	// retryWindow, counted over all servers. A retry that a call waits for is always let in.
	maxRetries  = 20
	retryWindow = time.Minute
)

// dialLimiter bounds how many dials begin at a time. Those that a call waits for go
// first, then those of servers that have not failed.
type dialLimiter struct {
	mu      sync.Mutex
	inside  int
	queue   []*ticket   // in order of arrival
	retries []time.Time // when they were let in, in the newest window
	timer   *time.Timer // for when a retry may be let in; nil is none
}

// ticket is a dial that waits for its turn, or has had it. Once it has joined the queue,
// the mutex of the limiter guards its fields.
type ticket struct {
	urgent bool // a call waits for it
	retry  bool // its server has failed

	begin chan struct{} // closed when it may begin
	burst *time.Timer   // not nil while it counts as inside
}

// join queues t. A call of leave must follow in any case.
func (l *dialLimiter) join(t *ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.begin = make(chan struct{})
	l.queue = append(l.queue, t)
	l.admit()
}

// wait waits until t may begin, or ctx ends.
func (t *ticket) wait(ctx context.Context) error {
	select {
	case <-t.begin:
	case <-ctx.Done():
	}
	return context.Cause(ctx)
}

// prioritise says that a call now waits for t, which may have begun already.
func (l *dialLimiter) prioritise(t *ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.urgent = true
	l.admit()
}

// leave says that the dial of t is over, whether it began or not. It may be called
// more than once.
func (l *dialLimiter) leave(t *ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = slices.DeleteFunc(l.queue, func(q *ticket) bool { return q == t })
	if t.burst != nil {
		t.burst.Stop()
		t.burst = nil
		l.inside--
	}
	l.admit()
}

// admit lets as many dials begin as there is room for.
func (l *dialLimiter) admit() {
	now := time.Now()
	l.retries = slices.DeleteFunc(l.retries, func(at time.Time) bool { return now.Sub(at) >= retryWindow })
	for l.inside < parallel {
		t := l.first()
		if t == nil {
			break
		}
		l.queue = slices.DeleteFunc(l.queue, func(q *ticket) bool { return q == t })
		if t.retry {
			l.retries = append(l.retries, now)
		}
		l.inside++
		t.burst = time.AfterFunc(burst, func() { l.leave(t) })
		close(t.begin)
	}
	l.armTimer(now)
}

// first returns the ticket whose turn it is, or nil.
func (l *dialLimiter) first() (best *ticket) {
	for _, t := range l.queue {
		switch {
		case t.urgent:
			return t
		case t.retry && len(l.retries) >= maxRetries:
		case best == nil || best.retry && !t.retry:
			best = t
		}
	}
	return best
}

// armTimer arms the timer while retries wait for earlier ones to leave the window.
func (l *dialLimiter) armTimer(now time.Time) {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	if len(l.queue) > 0 && len(l.retries) >= maxRetries {
		again := l.retries[len(l.retries)-maxRetries].Add(retryWindow).Sub(now)
		l.timer = time.AfterFunc(again, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.admit()
		})
	}
}
