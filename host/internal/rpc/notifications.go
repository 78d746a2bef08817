package rpc

import (
	"context"
	"strings"
	"sync"
	"unsafe"

	"github.com/wharf-mcp/wharf/host/internal/ctxcond"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// notificationQueue is the queue of a server's notifications. They are written one after
// the other into a batch; one goroutine, which is there while there are any,
// takes a whole batch at a time and tells the handler what is in it, while the
// next one fills. So a flood costs one copy per notification and hardly a lock.
//
// The queue holds maxNotes bytes. What arrives beyond that comes from a server
// that is faster than its host, and then not all of it can be kept: see shed.
type notificationQueue struct {
	hear func(*Incoming)

	mu      sync.Mutex
	filling batch
	running bool
	closed  bool
	crammed bool         // shedding did not help; only the next batch will
	told    ctxcond.Cond // the handler has been told everything

	heard, logs, coalesced, lost uint64
}

// maxQueued bounds the bytes of the batch that fills: params, names of methods and entries.
// The batch that the handler is told has no more than that either, and slices that grow have
// up to a quarter of room to spare.
const maxQueued = 16 << 20

// keepQueued is how many bytes shedding leaves: a quarter is free then.
const keepQueued = maxQueued / 4 * 3

// keepBatch is the largest batch whose memory waits for another use.
const keepBatch = 1 << 20

// batch is a run of notifications. The params of all lie in one buffer.
type batch struct {
	entries []queuedNotification
	buffer  []byte
	size    int  // bytes of all entries, see note.size
	gap     bool // there was no room for what came behind the last of the entries
}

// queuedNotification is one notification of a batch; its params are buffer[start:end].
type queuedNotification struct {
	method     string
	start, end int
	gone       bool // shed
}

const notificationSize = int(unsafe.Sizeof(queuedNotification{}))

// size is what a notification takes of the queue.
func (n *queuedNotification) size() int { return notificationSize + len(n.method) + n.end - n.start }

// append adds a notification, whose place in the buffer is yet to be set.
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

// add queues one notification; params is copied.
func (q *notificationQueue) add(method string, params []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.heard++
	b := &q.filling
	n := queuedNotification{method: method, end: len(params)}
	if q.closed || !q.makeRoom(n.size()) {
		q.lost++
		b.gap = b.gap || !q.closed
		return
	}
	b.append(n, params)
	if !q.running {
		q.running = true
		go q.run()
	}
}

// makeRoom reports whether there is room for another n bytes, after shedding if
// need be. One notification fits always.
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

// run tells the handler everything, batch by batch, and ends when there is
// nothing more.
func (q *notificationQueue) run() {
	var b batch
	var in Incoming
	for q.take(&b) {
		for i := range b.entries {
			n := &b.entries[i]
			in = Incoming{Method: n.method, Params: b.params(n)}
			q.hear(&in)
		}
		if b.gap {
			in = Incoming{}
			q.hear(&in)
		}
	}
}

// take swaps the batch that has been told for the one that has filled.
func (q *notificationQueue) take(b *batch) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b.size > keepBatch {
		*b = batch{}
	}
	clear(b.entries) // else the names of methods in it would be kept, and not counted
	*b, q.filling = q.filling, batch{entries: b.entries[:0], buffer: b.buffer[:0]}
	q.crammed = false
	q.running = len(b.entries) > 0
	if !q.running {
		q.told.Broadcast()
	}
	return q.running
}

// awaitHeard waits until the handler has been told everything, or until ctx ends.
func (q *notificationQueue) awaitHeard(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running {
		q.told.Await(ctx, &q.mu)
	}
}

// close lets what is queued be told, and nothing more.
func (q *notificationQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

// shed drops from a full batch what is missed least: first whatever a later
// notification says again, then the oldest log messages, until a quarter is
// free. What remains stays in order.
func (q *notificationQueue) shed() {
	b := &q.filling
	excess := b.size - keepQueued
	latest := make(map[string]bool)
	for i := len(b.entries) - 1; i >= 0; i-- {
		n := &b.entries[i]
		key, ok := topic(n.method, b.params(n))
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
	all, text := b.entries, b.buffer // the gaps are closed in place
	b.entries, b.buffer, b.size = all[:0], text[:0], 0
	for _, n := range all {
		if !n.gone {
			b.append(n, text[n.start:n.end])
		}
	}
	clear(all[len(b.entries):])
}

// Notifications that a full queue treats in a way of their own.
const (
	methodLog      = "notifications/message"
	methodProgress = "notifications/progress"
	methodUpdated  = "notifications/resources/updated"
	listChanged    = "/list_changed"
)

// topic names what a notification is about, where only the latest word on it
// counts: a list, a resource, the progress of one request.
func topic(method string, params []byte) (key string, ok bool) {
	switch {
	case strings.HasSuffix(method, listChanged):
		return method, true
	case method == methodUpdated:
		return method + string(params), true
	case method == methodProgress && len(params) > 0 && params[0] == '{':
		r := strictjson.Read(params)
		for name := range r.Object() {
			if string(name) == "progressToken" {
				return method + string(r.Raw()), true
			}
		}
	}
	return "", false
}

// knownMethods has the methods that come often.
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

// known returns method as a string, without an allocation where it is a known one.
func known(method []byte) string {
	if s, ok := knownMethods[string(method)]; ok {
		return s
	}
	return string(method)
}
