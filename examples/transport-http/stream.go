package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

const (
	// The rest of a stream after its answer is read, so that the connection below can
	// be used again: for one to two ticks, up to a size, and of a bounded number of
	// streams. A server that keeps its streams open loses the oldest.
	drainTick    = 1000
	drainSize    = 64 << 10
	drainStreams = 32

	// maxTries is how often a stream is resumed without an event in between.
	maxTries = 5

	// The wait before a resumption, in milliseconds, is the time that the server said, or
	// firstWait. It doubles after each attempt that brought no event.
	firstWait    = 1000
	longestWait  = 30_000
	shortestWait = 100
)

// stream takes bytes of an event stream.
func (t *transport) stream(c *call, p sdk.Payload, last bool) {
	size := p.Len()
	for p.Len() > 0 {
		var ok bool
		if p, ok = c.events.Next(p); ok && !t.event(c) {
			return
		}
	}
	switch {
	case last:
		t.parted(c)
	case c.events.Size() > t.cap:
		t.conn.Deliver(c.exchange, nil, abi.End) // the host finds out which request it answers
		t.fail(c, abi.TooLarge, "an event of the stream is longer than a message may be")
	case c.answered:
		t.drain(c, size)
	}
}

// event handles an event that is complete, and reports whether the stream goes on.
func (t *transport) event(c *call) bool {
	c.tries = 0
	switch c.events.Verdict() {
	case abi.VerdictWrongID:
		t.done(c)
		return false
	case abi.VerdictAnswer, abi.VerdictLate:
		c.answered = true
	}
	return true
}

// drain lets the rest of a response come, within bounds. A response that may
// still answer is bounded by the patience of its caller.
func (t *transport) drain(c *call, size int) {
	if c.size += size; c.size > drainSize {
		t.done(c)
		return
	}
	d := &t.calls.drained
	if c.drained || !c.answered {
		return
	}
	if c.drained = true; !t.ticking {
		t.ticking = t.conn.Timer(drainTimer, drainTick) == abi.OK
	}
	*d = append(*d, c)
	if len(*d) > drainStreams {
		t.done((*d)[0])
	}
}

// tick ends the streams whose draining began before the last tick.
func (t *transport) tick() {
	d := &t.calls.drained
	for len(*d) > 0 && (*d)[0].aged {
		t.done((*d)[0])
	}
	for _, c := range *d {
		c.aged = true
	}
	t.ticking = len(*d) > 0 && t.conn.Timer(drainTimer, drainTick) == abi.OK
}

// parted handles a stream that has ended by itself.
func (t *transport) parted(c *call) {
	if !c.answered && t.resumable(c) {
		t.pause(c)
		return
	}
	t.done(c)
}

// resumable reports whether the rest of a stream can be asked for (2025-11-25,
// basic/transports, resumability). In the modern era it cannot: the call is lost.
func (t *transport) resumable(c *call) bool {
	return len(c.events.ID()) > 0 && c.member && t.session.lives(c.epoch) && c.tries < maxTries
}

// pause waits before a stream is resumed.
func (t *transport) pause(c *call) {
	c.handle.Close()
	c.events.Restart(t.conn)
	c.wait = patience(c.events.Retry(), c.tries)
	c.tries++
	t.calls.rest(c)
	t.calls.rearm(t.conn)
}

// patience returns how long to wait after that many failed attempts, in milliseconds. It may be
// longer than the server said, and never shorter.
func patience(retry uint32, tries int) uint32 {
	wait := retry
	if wait == 0 {
		wait = firstWait
	}
	wait = max(wait, shortestWait)
	return max(wait, min(wait<<min(tries, 8), longestWait))
}

// resume asks for the rest of a stream. It is a GET whatever the stream came from, and it
// belongs to the exchange of the call. If it fails, the server may still have done what was
// asked, so the call must not be sent again.
func (t *transport) resume(c *call) {
	if !t.session.lives(c.epoch) {
		t.fail(c, abi.Reset, "the session ended before the server answered")
		return
	}
	h, err := t.conn.Open(abi.OpenHTTP, c.exchange, t.request.bare("GET", &t.session, c.events.ID()))
	if err != nil {
		t.fail(c, statusOf(err), err.Error())
		return
	}
	t.calls.wake(c)
	t.calls.hold(c, h)
	c.resumed = true
	h.Write(nil, abi.End)
}

// continued handles the response to the GET of a resumption. After a status of 500
// or above it tries again.
func (t *transport) continued(c *call, status int, media string) {
	switch {
	case status == 200 && media == mediaEvents:
		c.form = isEvents
	case status >= 500 && c.tries < maxTries:
		t.pause(c)
	default:
		t.done(c)
	}
}
