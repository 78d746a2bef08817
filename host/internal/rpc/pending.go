package rpc

import (
	"context"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// pendingCall is one pending request. It belongs to its caller. The goroutine that takes it out of
// the table sets how it ended and calls settle, which gives the call back.
type pendingCall struct {
	flight     *inflight
	id         uint64
	method     string
	terms      *Terms               // those of the moment in which it got its id
	limit      time.Duration        // what deadline was made of, for the error
	deadline   time.Time            // guarded by flight.mu; zero = none
	background bool                 // not waited for by drain
	done       chan hostio.InlineIO // nil is the end; before it there may be I/O to run

	result []byte
	err    error // nil means that result is the answer
	sent   Sent  // what err says about the message
	untold bool  // the transport must be told that it ended
	short  bool  // ended before its answer

	parent  context.Context
	ended   bool                    // guarded by flight.mu
	inner   context.Context         // guarded by flight.mu, see sendContext
	stop    context.CancelCauseFunc // ends inner; never set once ended is
	inline  hostio.InlineIO         // what the caller runs; guarded by flight.mu, never changed once ended is
	onLeave func()                  // giveUp, as a value
	gaveUp  chan struct{}           // gets a token when giveUp is over
}

// newPendingCall returns an empty record, which keeps its channels for life.
func newPendingCall() any {
	c := &pendingCall{done: make(chan hostio.InlineIO, 2), gaveUp: make(chan struct{}, 1)}
	c.onLeave = c.giveUp
	return c
}

func (c *pendingCall) exchange() uint32 { return uint32(c.id) }

// settle tells the caller that its call has ended. The goroutine that took the call calls it
// once, without mu, and does nothing with the call after it.
func (c *pendingCall) settle() {
	if c.stop != nil {
		c.stop(c.err)
	}
	if c.short && c.inline != nil {
		c.inline.Stop()
	}
	c.done <- nil
}

// awaitEnd waits for the end of c, for a caller that runs no I/O any more.
func (c *pendingCall) awaitEnd() {
	for e := <-c.done; e != nil; e = <-c.done {
		e.Stop()
		e.Run()
	}
}

// giveUp ends c because the context of its caller is done.
func (c *pendingCall) giveUp() {
	if c.flight.leave(c, contextError(c.parent), MaybeSent) {
		c.untold = true
		c.settle()
	}
	c.gaveUp <- struct{}{}
}

// Over implements [hostio.Waiter]. Only its caller calls it.
func (c *pendingCall) Over() bool { return len(c.done) > 0 || c.parent.Err() != nil }

// Others implements [hostio.Waiter]. Calls in background do not count: they may last as long
// as the connection.
func (c *pendingCall) Others() bool {
	c.flight.mu.Lock()
	defer c.flight.mu.Unlock()
	n := len(c.flight.pending) - c.flight.inBackground
	if !c.ended {
		n--
	}
	return n > 0
}
