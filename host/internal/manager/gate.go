package manager

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Figures of a gate.
const (
	// parallel is how many dials may be in their costly beginning at a time.
	parallel = 16

	// burst is how long that beginning is: after it a dial that is not done is
	// waiting for its server, and costs nobody anything. So a hundred servers
	// that never answer hold the next one up for a moment only.
	burst = 2 * time.Second

	// maxRetries is how many servers that have failed may be tried again in any
	// retryWindow, of all servers together, without a call that waits for it.
	maxRetries  = 20
	retryWindow = time.Minute
)

// gate lets dials begin. Those that a call waits for go first, then those of
// servers that have not failed.
type gate struct {
	mu      sync.Mutex
	inside  int
	queue   []*pass     // in order of arrival
	retries []time.Time // when they were let in, in the newest window
	timer   *time.Timer // for when a retry may be let in; nil is none
}

// pass is a dial on its way through the gate. Its fields are the gate's, once it
// has joined the queue.
type pass struct {
	urgent bool // a call waits for it
	retry  bool // its server has failed

	open  chan struct{} // closed when it may begin
	burst *time.Timer   // not nil while it counts as inside
}

// join queues p, and leave must follow, whatever happens in between.
func (g *gate) join(p *pass) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.open = make(chan struct{})
	g.queue = append(g.queue, p)
	g.admit()
}

// wait waits until p may begin, or for the end of ctx.
func (p *pass) wait(ctx context.Context) error {
	select {
	case <-p.open:
		return context.Cause(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hasten says that a call now waits for p, which may have been let in already.
func (g *gate) hasten(p *pass) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p.urgent = true
	g.admit()
}

// leave says that p is over, wherever it is. It may be said more than once.
func (g *gate) leave(p *pass) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue = slices.DeleteFunc(g.queue, func(q *pass) bool { return q == p })
	if p.burst != nil {
		p.burst.Stop()
		p.burst = nil
		g.inside--
	}
	g.admit()
}

// admit lets in as many as there is room for.
func (g *gate) admit() {
	now := time.Now()
	g.retries = slices.DeleteFunc(g.retries, func(t time.Time) bool { return now.Sub(t) >= retryWindow })
	for g.inside < parallel {
		p := g.first()
		if p == nil {
			break
		}
		g.queue = slices.DeleteFunc(g.queue, func(q *pass) bool { return q == p })
		if p.retry {
			g.retries = append(g.retries, now)
		}
		g.inside++
		p.burst = time.AfterFunc(burst, func() { g.leave(p) })
		close(p.open)
	}
	g.rest(now)
}

// first returns the pass whose turn it is, or nil.
func (g *gate) first() (best *pass) {
	for _, p := range g.queue {
		switch {
		case p.urgent:
			return p
		case p.retry && len(g.retries) >= maxRetries:
		case best == nil || best.retry && !p.retry:
			best = p
		}
	}
	return best
}

// rest arms the timer while retries wait for others to be a window old.
func (g *gate) rest(now time.Time) {
	if g.timer != nil {
		g.timer.Stop()
		g.timer = nil
	}
	if len(g.queue) > 0 && len(g.retries) >= maxRetries {
		again := g.retries[len(g.retries)-maxRetries].Add(retryWindow).Sub(now)
		g.timer = time.AfterFunc(again, func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.admit()
		})
	}
}
