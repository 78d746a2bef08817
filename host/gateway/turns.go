package gateway

import (
	"context"
	"slices"
	"sync"
)

// turns makes the messages of a client go on to a server one after the other, in the order of
// arrival. Without turns a request could overtake another, because each is served on a goroutine of
// its own.
type turns struct {
	mu    sync.Mutex
	queue []*turn // in the order of arrival; the first one may go on
}

// turn is the place of one message in the order. A message without an order has a nil turn and waits
// for nothing, as those of a modern client over HTTP.
type turn struct {
	all     *turns
	arrival uint64
	heard   func(context.Context) // waits until the notifications that arrived before have gone on; nil for none
	first   chan struct{}         // closed when all messages before it have gone on
	open    bool                  // first is closed
	passed  bool                  // it has gone on
}

// take adds the place of a message. arrival is its number in the order of arrival.
func (q *turns) take(arrival uint64) *turn {
	t := &turn{all: q, arrival: arrival, first: make(chan struct{})}
	q.mu.Lock()
	defer q.mu.Unlock()
	at := len(q.queue)
	for at > 0 && q.queue[at-1].arrival > arrival { // a notification takes its place late
		at--
	}
	q.queue = slices.Insert(q.queue, at, t)
	q.advance()
	return t
}

// of returns the place of the message with this arrival. The message must have taken a place, and
// must not have gone on.
func (q *turns) of(arrival uint64) *turn {
	q.mu.Lock()
	defer q.mu.Unlock()
	at := slices.IndexFunc(q.queue, func(t *turn) bool { return t.arrival == arrival })
	return q.queue[at]
}

// advance removes the messages at the front that have gone on, and lets the next one go. The caller
// holds mu.
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

// await waits until all messages before this one have gone on, or until ctx ends.
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

// pass lets the next message go, because this one has gone on or never will. It may be called
// several times.
func (t *turn) pass() {
	if t == nil {
		return
	}
	t.all.mu.Lock()
	defer t.all.mu.Unlock()
	t.passed = true
	t.all.advance()
}
