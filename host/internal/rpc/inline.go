package rpc

import (
	"context"

	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// OfferInline offers I/O of an exchange to the caller that waits for its answer. It
// reports whether there is one, which then runs it, even if its call ends meanwhile.
// OfferInline does not wait. Only the link may call it, as it calls Deliver.
func (p *Peer) OfferInline(exchange uint32, e hostio.InlineIO) bool {
	p.flight.mu.Lock()
	defer p.flight.mu.Unlock()
	c := p.flight.pending[exchange]
	if c == nil || c.inline != nil { // a caller runs one at a time
		return false
	}
	c.inline = e
	c.done <- e // there is room for it and for the end of the call
	return true
}

// runInline runs I/O for c, on the goroutine of its caller. The caller does not see the
// end of ctx meanwhile: an AfterFunc waits for that, and stops the I/O.
func (p *Peer) runInline(ctx context.Context, c *pendingCall, e hostio.InlineIO) {
	if ctx.Done() == nil {
		e.Run()
	} else {
		unwatch := context.AfterFunc(ctx, c.onLeave)
		e.Run()
		if !unwatch() {
			<-c.gaveUp
		}
	}
	c.flight.mu.Lock()
	defer c.flight.mu.Unlock()
	if !c.ended { // what ended the call may be about to stop it
		c.inline = nil
	}
}
