package rpc

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/ctxcond"
)

// inflight is the table of pending calls. Every change of a call happens here, under mu: it is
// opened, it times out, and exactly one of the goroutines that can end it takes it out.
type inflight struct {
	mu           sync.Mutex
	pending      map[uint32]*pendingCall             // by exchange, which is the low 32 bits of the id
	lastID       uint64                              // the newest number
	terms        atomic.Pointer[Terms]               // changed under mu only
	closed       error                               // why no call can be opened any more; nil while open
	inBackground int                                 // how many of the pending calls are in background
	idle         ctxcond.Cond                        // for drain: only calls in background are pending
	drained      bool                                // no call can be opened any more, but other messages can be sent
	unanswered   recentIDs                           // calls that ended before their answer
	callers      callers                             // for whom calls are open
	timer        *time.Timer                         // for all deadlines; nil before the first
	armed        time.Time                           // when timer fires; zero = never
	counts       Counters                            // the fields about responses
	aside        func(since time.Time) time.Duration // see [Config]; may be nil
}

// number returns the number and the terms for a message that has no answer. It returns an error if
// nothing can be sent any more.
func (f *inflight) number() (exchange uint32, t *Terms, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed != nil {
		return 0, nil, f.closed
	}
	return uint32(f.nextIDLocked()), f.terms.Load(), nil
}

// nextIDLocked returns the next number: the id of a request, and the exchange of any message. It
// skips 0. After four billion messages it also skips the numbers of calls that are still pending.
func (f *inflight) nextIDLocked() uint64 {
	for {
		f.lastID++
		if exchange := uint32(f.lastID); exchange != 0 && f.pending[exchange] == nil {
			return f.lastID
		}
	}
}

// open makes c pending, with an id and a deadline. It returns an error if no call can be opened.
func (f *inflight) open(c *pendingCall) error {
	if c.limit > 0 {
		c.deadline = time.Now().Add(c.limit)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.closed != nil:
		return f.closed
	case f.drained:
		return ErrClosed
	}
	c.id, c.terms = f.nextIDLocked(), f.terms.Load()
	f.pending[c.exchange()] = c
	f.callers.add(c.caller)
	if c.background {
		f.inBackground++
	}
	f.armLocked(c.deadline)
	return nil
}

// takeLocked takes a call out of the table, in which it must be.
func (f *inflight) takeLocked(c *pendingCall) {
	delete(f.pending, c.exchange())
	c.ended = true
	if c.background {
		f.inBackground--
	}
	if f.idle.Awaited() && len(f.pending) == f.inBackground {
		f.drained = true
		f.idle.Broadcast()
	}
}

// drain makes the table refuse new calls as soon as only calls in background are pending. If that
// is so now, it returns nil. Otherwise it returns a channel that is closed at that moment.
func (f *inflight) drain() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.pending) == f.inBackground {
		f.drained = true
		return nil
	}
	return f.idle.Next()
}

// endLocked takes out a call that ends before its answer.
func (f *inflight) endLocked(c *pendingCall, err error, sent Sent) {
	f.takeLocked(c)
	f.unanswered.add(c.id)
	if sent == MaybeSent {
		f.callers.abandon(c.exchange(), c.caller)
	} else {
		f.callers.remove(c.caller)
	}
	c.err, c.sent = err, sent
	c.endedEarly = true
}

// leave takes c out for its own caller. It returns false if another goroutine has taken c out:
// that goroutine calls settle.
func (f *inflight) leave(c *pendingCall, err error, sent Sent) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c.ended {
		return false
	}
	f.endLocked(c, err, sent)
	return true
}

// end ends the call of an exchange before its answer. It returns false if no such call is pending.
func (f *inflight) end(exchange uint32, err error, sent Sent) bool {
	f.mu.Lock()
	c := f.pending[exchange]
	if c != nil {
		f.endLocked(c, err, sent)
	}
	f.mu.Unlock()
	if c == nil {
		return false
	}
	c.settle()
	return true
}

// spoil notes what the call of an exchange ends with if nothing better comes.
func (f *inflight) spoil(exchange uint32, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.pending[exchange]; c != nil && c.spoilt == nil {
		c.spoilt = err
	}
}

// endID ends the call with an id that came in over an exchange. The exchange is that of the call,
// or the shared one.
func (f *inflight) endID(exchange uint32, id uint64, err error) {
	f.mu.Lock()
	c := f.pending[uint32(id)]
	if c != nil && (c.id != id || exchange != 0 && exchange != c.exchange()) {
		c = nil
	}
	if c != nil {
		f.endLocked(c, err, Answered)
	}
	f.mu.Unlock()
	if c != nil {
		c.settle()
	}
}

// close ends all calls and refuses new ones. It returns false if the table was closed before.
func (f *inflight) close(err error) bool {
	f.mu.Lock()
	if f.closed != nil {
		f.mu.Unlock()
		return false
	}
	f.closed = err
	if f.timer != nil {
		f.timer.Stop()
	}
	f.endAllUnlock(err)
	return true
}

// hangUp ends all calls and lets none be opened again. Other messages are still sent.
func (f *inflight) hangUp(err error) {
	f.mu.Lock()
	f.drained = true
	f.endAllUnlock(err)
}

// endAllUnlock ends all calls. It is called with mu held and returns without it.
func (f *inflight) endAllUnlock(err error) {
	var ended []*pendingCall
	for _, c := range f.pending {
		f.endLocked(c, err, MaybeSent)
		ended = append(ended, c)
	}
	f.mu.Unlock()
	for _, c := range ended {
		c.settle()
	}
}

// armLocked makes expire run at the deadline or earlier. A call that ends in time leaves the timer
// armed: the timer then fires for nothing, once, and is armed for the next deadline.
func (f *inflight) armLocked(deadline time.Time) {
	if deadline.IsZero() || !f.armed.IsZero() && !deadline.Before(f.armed) {
		return
	}
	f.armed = deadline
	if wait := time.Until(deadline); f.timer == nil {
		f.timer = time.AfterFunc(wait, f.expire)
	} else {
		f.timer.Reset(wait)
	}
}

// extendLocked gives a call the time in which the caller was busy since it was opened, as far as the call
// has not got it yet.
func (f *inflight) extendLocked(c *pendingCall) {
	if f.aside == nil {
		return
	}
	if more := f.aside(c.deadline.Add(-c.limit-c.granted)) - c.granted; more > 0 {
		const pause = 10 * time.Millisecond // between two looks while the caller is busy
		more = max(more, pause)
		c.granted += more
		c.deadline = c.deadline.Add(more)
	}
}

// expire ends the calls whose time is over and arms the timer for the next.
func (f *inflight) expire() {
	f.mu.Lock()
	if f.closed != nil {
		f.mu.Unlock()
		return
	}
	var ended []*pendingCall
	now := time.Now()
	f.armed = time.Time{}
	for _, c := range f.pending {
		if !c.deadline.IsZero() && !c.deadline.After(now) {
			f.extendLocked(c)
		}
		switch {
		case c.deadline.IsZero():
		case c.deadline.After(now):
			f.armLocked(c.deadline)
		default:
			f.endLocked(c, fmt.Errorf("%w after %v", ErrTimeout, c.limit), MaybeSent)
			c.tellTransport = true
			ended = append(ended, c)
		}
	}
	f.mu.Unlock()
	for _, c := range ended {
		c.settle()
	}
}

// match says how a response fits the pending calls.
type match uint8

const (
	matched    match = iota // resolve has taken the call out; its caller calls settle
	wrongID                 // like matched, but the answer has the wrong id
	unmatched               // no call waits for the response
	neverAsked              // like unmatched, and its id was never given out
)

// resolve takes out the call that a response answers. On an exchange of its own a response can
// answer only one call, and an error may come without an id there.
func (f *inflight) resolve(exchange uint32, e *envelope) (*pendingCall, match) {
	id, exact := exactID(e.id)
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.pending[exchange]; c != nil { // never for the shared channel, 0
		f.takeLocked(c)
		f.callers.remove(c.caller)
		if exact && c.id == id || e.isNullID() {
			f.counts.Answers++
			return c, matched
		}
		f.counts.WrongID++
		return c, wrongID
	}
	loose := false
	if !exact { // the server may have changed the spelling of the id
		id, loose = looseID(e.id)
	}
	f.callers.late(uint32(id))
	c := f.pending[uint32(id)]
	found := c != nil && c.id == id
	switch {
	case exact && found && exchange == 0:
		f.takeLocked(c)
		f.callers.remove(c.caller)
		f.counts.Answers++
		return c, matched
	case loose && found:
		f.takeLocked(c)
		f.callers.remove(c.caller)
		f.counts.WrongID++
		return c, wrongID
	case exact && f.unanswered.remove(id):
		f.counts.Late++
	case exact && id <= f.lastID:
		f.counts.Duplicate++
	case e.isNullID(): // an error about something that the server could not read
		f.counts.Unknown++
	default:
		f.counts.Unknown++
		return nil, neverAsked
	}
	return nil, unmatched
}

// recentIDs holds the last 64 numbers that were added.
type recentIDs struct {
	ids  [64]uint64
	next int
}

func (r *recentIDs) add(id uint64) {
	r.ids[r.next%len(r.ids)] = id
	r.next++
}

// remove reports whether id is in r, and removes it.
func (r *recentIDs) remove(id uint64) bool {
	for i := range r.ids {
		if r.ids[i] == id {
			r.ids[i] = 0
			return true
		}
	}
	return false
}
