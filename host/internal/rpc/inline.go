package rpc

import (
	"context"

	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// OfferInline offers I/O of an exchange to the caller that waits for its answer. It returns false
// if no caller can take it. Otherwise the caller runs the I/O, even if its call ends meanwhile.
// OfferInline does not wait. Only the link may call it, like Deliver.
func (p *Peer) OfferInline(exchange uint32, e hostio.InlineIO) bool {
	p.flight.mu.Lock()
	defer p.flight.mu.Unlock()
	c := p.flight.pending[exchange]
	if c == nil || c.inline != nil { // a caller runs one I/O at a time
		return false
	}
	c.inline = e
	c.done <- e // never blocks: the channel has room for the I/O and for the end of the call
	return true
}

// runInline runs I/O for c on the goroutine of its caller. Meanwhile the caller does not see the
// end of ctx: an AfterFunc does, and stops the I/O.
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
	if !c.ended { // else the goroutine that ended the call may be about to stop the I/O
		c.inline = nil
	}
}
