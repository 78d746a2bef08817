package manager

import (
	"context"
	"slices"
	"sync"
	"time"
)

// The limits of a dialLimiter.
const (
	// parallel is how many dials may be in their costly first phase at a time.
	parallel = 16

	// burst is the length of that phase. A dial that takes longer only waits for its server, which
	// costs nothing. So a hundred servers that never answer delay the next one only for a moment.
	burst = 2 * time.Second

	// maxRetries is how many dials to failed servers may begin within any retryWindow, counted over
	// all servers. A retry that a call waits for is always admitted.
	maxRetries  = 20
	retryWindow = time.Minute
)

// dialLimiter bounds how many dials begin at a time. Dials that a call waits for go first, then
// those of servers that have not failed.
type dialLimiter struct {
	mu      sync.Mutex
	inside  int
	queue   []*ticket   // in order of arrival
	retries []time.Time // when each retry in the newest window was admitted
	timer   *time.Timer // fires when the next retry may be admitted; nil is none
}

// ticket is one dial in the limiter, before its turn or after. Once it has joined the queue, the
// mutex of the limiter guards its fields.
type ticket struct {
	urgent bool // a call waits for it
	retry  bool // its server has failed

	begin chan struct{} // closed when the dial may begin
	burst *time.Timer   // not nil during the first phase of the dial
}

// join queues t. The caller must call leave afterwards, in any case.
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

// prioritise says that a call now waits for the dial of t, which may have begun already.
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

// admit lets as many dials begin as the limits allow.
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

// armTimer arms the timer if retries must wait for the window to move on.
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
