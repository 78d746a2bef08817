package rpc

import (
	"context"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// call is one pending request. It belongs to its caller. The goroutine that takes it out of
// the table sets how it ended, and then puts a nil into done: with that it gives the call back.
type call struct {
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
	left   bool  // ended without the transport knowing: it must be told
	short  bool  // ended before its answer

	parent  context.Context
	ended   bool                    // guarded by flight.mu
	inner   context.Context         // guarded by flight.mu, see sendContext
	stop    context.CancelCauseFunc // ends inner; never set once ended is
	inline  hostio.InlineIO         // what the caller runs; guarded by flight.mu, never changed once ended is
	onLeave func()                  // giveUp, as a value
	gaveUp  chan struct{}           // gets a token when giveUp is over
}

// newCall returns an empty record, which keeps its channels for life.
func newCall() any {
	c := &call{done: make(chan hostio.InlineIO, 2), gaveUp: make(chan struct{}, 1)}
	c.onLeave = c.giveUp
	return c
}

func (c *call) exchange() uint32 { return uint32(c.id) }

// settle tells the caller that its call has ended. The goroutine that took the call calls it
// once, without mu, and does nothing with the call after it.
func (c *call) settle() {
	if c.stop != nil {
		c.stop(c.err)
	}
	if c.short && c.inline != nil {
		c.inline.Stop()
	}
	c.done <- nil
}

// over waits for the end of c, for a caller that runs no I/O any more.
func (c *call) over() {
	for e := <-c.done; e != nil; e = <-c.done {
		e.Stop()
		e.Run()
	}
}

// giveUp ends c because the context of its caller is done.
func (c *call) giveUp() {
	if c.flight.leave(c, contextError(c.parent), MaybeSent) {
		c.left = true
		c.settle()
	}
	c.gaveUp <- struct{}{}
}
