package rpc

import (
	"context"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// pendingCall is one pending request and belongs to its caller. The goroutine that takes the call
// out of the table stores how it ended, and calls settle to give the call back.
type pendingCall struct {
	flight     *inflight
	id         uint64
	method     string
	caller     uint64               // see Call.Caller
	terms      *Terms               // that held when the call got its id
	limit      time.Duration        // the timeout from which deadline was computed, for the error
	deadline   time.Time            // guarded by flight.mu; zero = none
	granted    time.Duration        // of deadline, more than limit; guarded by flight.mu
	background bool                 // drain does not wait for it
	spoilt     error                // what is wrong with the first malformed message on its exchange; guarded by flight.mu
	done       chan hostio.InlineIO // receives I/O to run, then nil at the end of the call

	result        []byte
	err           error // nil means that result is the answer
	sent          Sent  // what is known about the message, if err is not nil
	tellTransport bool  // the transport must be told of the end
	endedEarly    bool  // ended without its answer

	parent  context.Context
	ended   bool                    // guarded by flight.mu
	inner   context.Context         // guarded by flight.mu, see sendContext
	stop    context.CancelCauseFunc // ends inner; never set once ended is
	inline  hostio.InlineIO         // I/O that the caller runs; guarded by flight.mu, never changed once ended is set
	onLeave func()                  // the method value giveUp
	gaveUp  chan struct{}           // gets a token when giveUp has returned
}

// newPendingCall returns an empty record, which keeps its channels for life.
func newPendingCall() any {
	c := &pendingCall{done: make(chan hostio.InlineIO, 2), gaveUp: make(chan struct{}, 1)}
	c.onLeave = c.giveUp
	return c
}

func (c *pendingCall) exchange() uint32 { return uint32(c.id) }

// settle tells the caller that its call has ended. The goroutine that took the call out calls it
// once, without mu, and does not touch the call afterwards.
func (c *pendingCall) settle() {
	if c.stop != nil {
		c.stop(c.err)
	}
	if c.endedEarly && c.inline != nil {
		c.inline.Stop()
	}
	c.done <- nil
}

// awaitEnd waits for the end of c on behalf of a caller that runs no more I/O.
func (c *pendingCall) awaitEnd() {
	for e := <-c.done; e != nil; e = <-c.done {
		e.Stop()
		e.Run()
	}
}

// giveUp ends c because the context of its caller is done.
func (c *pendingCall) giveUp() {
	if c.flight.leave(c, contextError(c.parent), MaybeSent) {
		c.tellTransport = true
		c.settle()
	}
	c.gaveUp <- struct{}{}
}

// Over implements [hostio.Waiter]. Only the caller of c may call it.
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
