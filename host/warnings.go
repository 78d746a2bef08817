package host

import (
	"context"
	"fmt"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/ctxcond"
)

// warningQueue delivers the warnings of plugins on a goroutine of its own, which runs while
// there are any. The plugin that warns waits for its call to return, and the callback may use or
// close the session of that plugin, so the call cannot deliver them itself.
type warningQueue struct {
	deliver func(Event)

	mu      sync.Mutex
	waiting []Event
	running bool
	dropped int
	told    ctxcond.Cond // all are delivered
}

// maxWarnings is how many warnings wait. Further ones are dropped and counted.
const maxWarnings = 64

// add queues a warning and returns at once.
func (q *warningQueue) add(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) >= maxWarnings {
		q.dropped++
		return
	}
	q.waiting = append(q.waiting, e)
	if !q.running {
		q.running = true
		go q.run()
	}
}

func (q *warningQueue) run() {
	for e, ok := q.next(); ok; e, ok = q.next() {
		q.deliver(e)
	}
}

// next takes the oldest warning. The last warning says how many were dropped.
func (q *warningQueue) next() (e Event, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case len(q.waiting) > 0:
		e, q.waiting = q.waiting[0], q.waiting[1:]
		return e, true
	case q.dropped > 0:
		e.Warning = fmt.Sprintf("%d more warnings were left out", q.dropped)
		q.dropped = 0
		return e, true
	}
	q.running = false
	q.told.Broadcast()
	return Event{}, false
}

// awaitHeard waits until the callback has heard every warning, or until ctx ends.
func (q *warningQueue) awaitHeard(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running {
		q.told.Await(ctx, &q.mu)
	}
}
