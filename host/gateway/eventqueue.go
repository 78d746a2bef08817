package gateway

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/internal/ctxcond"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// eventQueue has the notifications that wait for one client of a shared session, so that a client that
// reads slowly does not hold up the others. While any wait, one goroutine passes them to the client in
// order.
type eventQueue struct {
	hear func(host.Event)

	mu      sync.Mutex
	waiting []host.Event // oldest first
	bytes   int          // of their params
	running bool
	closed  bool
	lost    int          // log messages that were dropped since the client was told of such
	lostOne host.Event   // the last of them
	told    uint64       // heard at that time
	added   uint64       // events that were added
	heard   uint64       // how many of these were passed on or dropped
	changed ctxcond.Cond // heard or running has changed
}

// Bounds of the events that wait.
const (
	maxEvents     = 1024
	maxEventBytes = 4 << 20 // of their params; one event may have more
)

// add queues an event. It drops the event if it only repeats one that waits. If there is no room, add
// drops waiting log messages, the oldest first. If that is not enough, or if the event is a log
// message itself, it drops the event. The client is told how many log messages were dropped.
func (q *eventQueue) add(e host.Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	again := func(w host.Event) bool { return w.Method == e.Method && bytes.Equal(w.Params, e.Params) }
	if q.closed || repeatable(e.Method) && slices.ContainsFunc(q.waiting, again) {
		return
	}
	for !q.fits(&e) {
		at := slices.IndexFunc(q.waiting, func(w host.Event) bool { return w.Method == mcp.NotificationMessage })
		if e.Method == mcp.NotificationMessage {
			q.lose(e)
			return
		}
		if at < 0 {
			return
		}
		q.lose(q.waiting[at])
		q.bytes -= len(q.waiting[at].Params)
		q.waiting = slices.Delete(q.waiting, at, at+1)
		q.heard++
	}
	q.waiting = append(q.waiting, e)
	q.bytes += len(e.Params)
	q.added++
	if !q.running {
		q.running = true
		go q.run()
	}
}

// lose counts a log message that is dropped. The caller holds q.mu.
func (q *eventQueue) lose(e host.Event) {
	q.lost++
	q.lostOne = e
}

// notice returns a log message that says how many were dropped, once no event waits or many have been passed on since
// the last one. It has the level of the last that was dropped, so a client that hears those hears it. The caller holds
// q.mu.
func (q *eventQueue) notice() (e host.Event, due bool) {
	if q.lost == 0 || len(q.waiting) > 0 && q.heard-q.told < maxEvents {
		return e, false
	}
	e = q.lostOne
	text := strconv.Itoa(q.lost) + " log messages were left out here: they came faster than this client reads them"
	e.Params = edit(nil, change{"level", member(e.Params, "level")}, change{"logger", quote("wharf")}, change{"data", quote(text)})
	q.lost, q.told, q.lostOne = 0, q.heard, host.Event{}
	return e, true
}

// repeatable reports whether two equal notifications say no more than one.
func repeatable(method string) bool {
	return method == mcp.NotificationResourceUpdated || strings.HasSuffix(method, "/list_changed")
}

func (q *eventQueue) fits(e *host.Event) bool {
	n := len(q.waiting)
	return n == 0 || n < maxEvents && q.bytes+len(e.Params) <= maxEventBytes
}

// run passes all events to the client, and returns when none wait.
func (q *eventQueue) run() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 && !q.closed {
		e := q.waiting[0]
		q.waiting = slices.Delete(q.waiting, 0, 1)
		q.bytes -= len(e.Params)
		q.mu.Unlock()
		q.hear(e)
		q.mu.Lock()
		if e, due := q.notice(); due {
			q.mu.Unlock()
			q.hear(e)
			q.mu.Lock()
		}
		q.heard++
		q.changed.Broadcast()
	}
	q.running = false
	q.changed.Broadcast()
}

// awaitHeard waits until all events that were added before this call have been passed to the client,
// or until ctx ends.
func (q *eventQueue) awaitHeard(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for last := q.added; q.heard < last && !q.closed && q.changed.Await(ctx, &q.mu) == nil; {
	}
}

// close drops the events that wait. After it returns, hear is not called any more. The caller must
// have ended the client's context, because close waits for a call of hear that is under way.
func (q *eventQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.waiting = true, nil
	for q.running {
		q.changed.Await(context.Background(), &q.mu)
	}
}
