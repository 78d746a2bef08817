package rpc

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/wharf-mcp/wharf/host/internal/ctxcond"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// notificationQueue is the queue of a server's notifications. They are written one after the other
// into a batch. One goroutine, which exists while any are queued, takes a whole batch and passes it
// to the handler while the next batch fills. So a flood costs one copy per notification and hardly
// a lock.
//
// The queue holds maxQueued bytes. More arrives only if the server is faster than the handler. Then
// some notifications are dropped: see shed.
type notificationQueue struct {
	hear func(*Incoming)

	mu      sync.Mutex
	filling batch
	running bool
	closed  bool
	crammed bool          // shed made too little room, and is not tried again before the next batch
	taken   uint64        // batches that were passed to the handler, or are at the moment
	done    uint64        // of these, those that it has returned from
	told    ctxcond.Cond  // done has changed, or hearing and there are waiters
	waiters atomic.Int32  // in awaitHeardBefore
	waiting atomic.Bool   // filling is not empty
	hearing atomic.Uint64 // while running, the arrival of the oldest notification that the handler has not returned from, or less

	heard, logs, coalesced, lost uint64
}

// maxQueued bounds the bytes of the batch that fills: params, method names and entries. The batch
// that the handler works on has at most as many, too. The slices may have a quarter more capacity.
const maxQueued = 16 << 20

// keepQueued is how many bytes shed leaves, so that a quarter is free.
const keepQueued = maxQueued / 4 * 3

// keepBatch is the size in bytes of the largest batch whose memory is reused.
const keepBatch = 1 << 20

// batch is a run of notifications. The params of all lie in one buffer.
type batch struct {
	entries []queuedNotification
	buffer  []byte
	size    int  // bytes of all entries, see queuedNotification.size
	gap     bool // notifications after the last entry were dropped for want of room
}

// queuedNotification is one notification of a batch; its params are buffer[start:end].
type queuedNotification struct {
	method     string
	caller     uint64 // whose call it belongs to; 0 if that is not certain
	arrival    uint64 // see [Incoming.Arrival]
	start, end int
	gone       bool // shed has dropped it
}

const notificationSize = int(unsafe.Sizeof(queuedNotification{}))

// size returns how many bytes of the queue a notification takes.
func (n *queuedNotification) size() int { return notificationSize + len(n.method) + n.end - n.start }

// append adds a notification and copies its params into the buffer.
func (b *batch) append(n queuedNotification, params []byte) {
	n.start = len(b.buffer)
	b.buffer = append(b.buffer, params...)
	n.end = len(b.buffer)
	b.entries = append(b.entries, n)
	b.size += n.size()
}

func (b *batch) params(n *queuedNotification) []byte {
	if n.start == n.end {
		return nil
	}
	return b.buffer[n.start:n.end:n.end]
}

// add queues one notification. It copies params.
func (q *notificationQueue) add(method string, params []byte, caller, arrival uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.heard++
	b := &q.filling
	n := queuedNotification{method: method, caller: caller, arrival: arrival, end: len(params)}
	if q.closed || !q.makeRoom(n.size()) {
		q.lost++
		b.gap = b.gap || !q.closed
		return
	}
	if len(b.entries) == 0 {
		q.waiting.Store(true)
	}
	b.append(n, params)
	if !q.running {
		q.running = true
		q.hearing.Store(arrival)
		go q.run()
	}
}

// makeRoom reports whether n more bytes fit, if necessary after shedding. A single notification
// always fits.
func (q *notificationQueue) makeRoom(n int) bool {
	fits := func() bool { return len(q.filling.entries) == 0 || q.filling.size+n <= maxQueued }
	if fits() {
		return true
	}
	if !q.crammed {
		q.shed()
		q.crammed = q.filling.size > keepQueued
	}
	return fits()
}

// run passes all notifications to the handler, batch by batch, and ends when the queue is empty.
func (q *notificationQueue) run() {
	var b batch
	var in Incoming
	for q.take(&b) {
		for i := range b.entries {
			n := &b.entries[i]
			if i > 0 {
				q.advance(n.arrival)
			}
			in = Incoming{Method: n.method, Params: b.params(n), arrival: n.arrival, caller: n.caller, sure: n.caller != 0}
			q.hear(&in)
		}
		if b.gap {
			in = Incoming{}
			q.hear(&in)
		}
	}
}

// take swaps the batch that was passed on for the one that has filled. It returns false if that one
// is empty.
func (q *notificationQueue) take(b *batch) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.done = q.taken
	if b.size > keepBatch {
		*b = batch{}
	}
	clear(b.entries) // else the entries would keep method names in memory that are not counted
	*b, q.filling = q.filling, batch{entries: b.entries[:0], buffer: b.buffer[:0]}
	q.crammed = false
	q.waiting.Store(false)
	q.running = len(b.entries) > 0
	if q.running {
		q.taken++
		q.hearing.Store(b.entries[0].arrival)
	}
	q.told.Broadcast()
	return q.running
}

// advance says that the handler has returned from all notifications before this one. Those that
// shed has dropped count as well.
func (q *notificationQueue) advance(arrival uint64) {
	q.hearing.Store(arrival)
	if q.waiters.Load() > 0 {
		q.mu.Lock()
		q.told.Broadcast()
		q.mu.Unlock()
	}
}

// awaitHeardBefore waits until the handler has returned from the notifications that arrived before
// that number, or until ctx ends.
func (q *notificationQueue) awaitHeardBefore(ctx context.Context, arrival uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiters.Add(1) // before hearing is read: else advance might see no waiter
	defer q.waiters.Add(-1)
	for q.running && q.hearing.Load() < arrival && q.told.Await(ctx, &q.mu) == nil {
	}
}

// awaitHeard waits until the handler has returned from all notifications that are queued, or until
// ctx ends. If the server goes on sending, that is at most the rest of a batch longer.
func (q *notificationQueue) awaitHeard(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	last := q.taken
	if len(q.filling.entries) > 0 {
		last++
	}
	for q.done < last && q.told.Await(ctx, &q.mu) == nil {
	}
}

// close makes add drop all later notifications. Those queued are still passed on.
func (q *notificationQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

// shed drops the least missed entries of a full batch: first those that a later notification
// replaces, then the oldest log messages, until a quarter is free. The rest keeps its order.
func (q *notificationQueue) shed() {
	b := &q.filling
	excess := b.size - keepQueued
	latest := make(map[string]bool)
	for i := len(b.entries) - 1; i >= 0; i-- {
		n := &b.entries[i]
		key, ok := coalesceKey(n.method, b.params(n))
		if n.gone = ok && latest[key]; n.gone {
			q.coalesced++
			excess -= n.size()
		} else if ok {
			latest[key] = true
		}
	}
	for i := 0; i < len(b.entries) && excess > 0; i++ {
		if n := &b.entries[i]; n.method == methodLog && !n.gone {
			n.gone = true
			q.logs++
			excess -= n.size()
		}
	}
	all, text := b.entries, b.buffer // the entries that stay move up in place
	b.entries, b.buffer, b.size = all[:0], text[:0], 0
	for _, n := range all {
		if !n.gone {
			b.append(n, text[n.start:n.end])
		}
	}
	clear(all[len(b.entries):])
}

// Notifications that shed treats in a special way.
const (
	methodLog      = "notifications/message"
	methodProgress = "notifications/progress"
	methodUpdated  = "notifications/resources/updated"
	listChanged    = "/list_changed"
)

const memberProgress = "progressToken" // of the params of methodProgress, and of _meta of the request

// coalesceKey returns what a notification is about: a list, a resource, the progress of one
// request. A later notification with the same key replaces it. ok is false for one that no later
// notification replaces.
func coalesceKey(method string, params []byte) (key string, ok bool) {
	switch {
	case strings.HasSuffix(method, listChanged):
		return method, true
	case method == methodUpdated:
		return method + string(params), true
	case method == methodProgress && len(params) > 0 && params[0] == '{':
		r := strictjson.Read(params)
		for name := range r.Object() {
			if string(name) == memberProgress {
				return method + string(r.Raw()), true
			}
		}
	}
	return "", false
}

// knownMethods holds the methods that come often.
var knownMethods = func() map[string]string {
	methods := make(map[string]string)
	for _, m := range []string{
		methodLog, methodProgress, methodUpdated, methodCancelled,
		"notifications/tools/list_changed", "notifications/prompts/list_changed",
		"notifications/resources/list_changed",
	} {
		methods[m] = m
	}
	return methods
}()

// known returns method as a string, without an allocation if knownMethods has it.
func known(method []byte) string {
	if s, ok := knownMethods[string(method)]; ok {
		return s
	}
	return string(method)
}
