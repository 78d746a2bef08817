package gateway

import (
	"context"
	"slices"
	"sync"
)

// turns has the messages of a client go on to a server one after the other, in the order of arrival.
// Each request is served on a goroutine of its own, and would else overtake others.
type turns struct {
	mu    sync.Mutex
	queue []*turn // in the order of arrival; the first one may go on
}

// turn is the place of one message. A nil turn is that of a message without an order, as of a modern
// client over HTTP: it waits for nothing.
type turn struct {
	all     *turns
	arrival uint64
	heard   func(context.Context) // waits until the notifications that arrived before have gone on; nil for none
	first   chan struct{}         // closed when all messages before it have gone on
	open    bool                  // first is closed
	passed  bool                  // it has gone on
}

// take returns the place of the message that arrived as number arrival.
func (q *turns) take(arrival uint64) *turn {
	t := &turn{all: q, arrival: arrival, first: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	at := len(q.queue)
	for at > 0 && q.queue[at-1].arrival > arrival { // notifications take theirs late
		at--
	}
	q.queue = slices.Insert(q.queue, at, t)
	q.advance()
	return t
}

// of returns the place of a message that has taken one and has not gone on.
func (q *turns) of(arrival uint64) *turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.IndexFunc(q.queue, func(t *turn) bool { return t.arrival == arrival })
	return q.queue[at]
}

// advance removes those that have gone on from the front, and lets the next one go. The caller holds
// mu.
func (q *turns) advance() {
	for len(q.queue) > 0 {
		t := q.queue[0]
		if !t.open {
			t.open = true
			close(t.first)
		}
		if !t.passed {
			return
		}
		q.queue = q.queue[1:]
	}
}

// await waits until all messages before it have gone on.
func (t *turn) await(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if t.heard != nil {
		t.heard(ctx)
	}
	select {
	case <-t.first:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pass says that the message has gone on, or never will. It may be called several times.
func (t *turn) pass() {
	if t == nil {
		return
	}
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.passed = true
	t.all.advance()
}
