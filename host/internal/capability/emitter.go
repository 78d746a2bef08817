package capability

import (
	"sync"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// Emitter passes events to a sink, one call at a time, until it is muted. Its methods are those of
// [hostio.Sink]; Exit and Error mute it.
//
// All calls except Drained come from the goroutines of the handle, one after the other, so
// only Drained needs the lock. The writer, which calls Drained, must not wait for a Data
// that blocks: it leaves Drained to the goroutine that has the lock.
type Emitter struct {
	sink    hostio.Sink
	mu      sync.Mutex
	opened  atomic.Bool // Drained may be called
	muted   atomic.Bool // no more events are passed on
	drained atomic.Bool // Drained is due
}

// begin takes the lock. It returns false, without the lock, if the emitter is muted.
func (e *Emitter) begin() bool {
	e.mu.Lock()
	if e.muted.Load() {
		e.mu.Unlock()
		return false
	}
	return true
}

// done releases the lock, and calls Drained if that became due meanwhile.
func (e *Emitter) done() {
	e.mu.Unlock()
	e.flushDrained()
}

// flushDrained calls Drained if it is due and the lock is free. If another call has the lock, that
// call calls Drained at its end.
func (e *Emitter) flushDrained() {
	for e.drained.Load() && e.opened.Load() && e.mu.TryLock() {
		if e.drained.Swap(false) && !e.muted.Load() {
			e.sink.Drained()
		}
		e.mu.Unlock()
	}
}

// Drained never waits: if another call is running, that call passes it on.
func (e *Emitter) Drained() {
	e.drained.Store(true)
	e.flushDrained()
}

// AllowDrained allows Drained before Opened or Head.
func (e *Emitter) AllowDrained() { e.opened.Store(true) }

// Opened is described at [hostio.Sink].
func (e *Emitter) Opened() {
	if e.begin() {
		e.opened.Store(true)
		e.sink.Opened()
		e.done()
	}
}

// Sealed is Opened if blob is empty.
func (e *Emitter) Sealed(blob []byte) {
	if len(blob) == 0 {
		e.Opened()
	} else if e.begin() {
		e.opened.Store(true)
		e.sink.Sealed(blob)
		e.done()
	}
}

// Head is described at [hostio.Sink].
func (e *Emitter) Head(status int, headers []abi.Pair, length int64, body []byte, last bool) {
	if e.begin() {
		e.opened.Store(true)
		e.sink.Head(status, headers, length, body, last)
		e.done()
	}
}

// Data is described at [hostio.Sink].
func (e *Emitter) Data(p []byte, last bool) {
	if e.begin() {
		e.sink.Data(p, last)
		e.done()
	}
}

// End is described at [hostio.Sink].
func (e *Emitter) End() {
	if e.begin() {
		e.sink.End()
		e.done()
	}
}

// Exit is the last call: the emitter passes on nothing after it.
func (e *Emitter) Exit(code int, detail string, unread bool) {
	if e.begin() {
		e.sink.Exit(code, detail, unread)
		e.muted.Store(true)
		e.done()
	}
}

// Error is the last call: the emitter passes on nothing after it.
func (e *Emitter) Error(status abi.Status, err error) {
	if e.begin() {
		e.sink.Error(status, err)
		e.muted.Store(true)
		e.done()
	}
}
