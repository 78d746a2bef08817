package rpc

import (
	"context"

	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// OfferInline offers I/O of an exchange to the caller that waits for its answer. It
// reports whether there is one, which then runs it, even if its call ends meanwhile.
// OfferInline does not wait. Only the link may call it, as it calls Deliver.
func (p *Peer) OfferInline(exchange uint32, e hostio.InlineIO) bool {
	return p.flight.offerInline(exchange, e)
}

// offerInline gives I/O to the caller of an exchange, which runs one at a time. The
// channel has room for it and for the end of the call.
func (f *inflight) offerInline(exchange uint32, e hostio.InlineIO) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.pending[exchange]
	if c == nil || c.inline != nil {
		return false
	}
	c.inline = e
	c.done <- e
	return true
}

// runInline runs I/O for c, on the goroutine of its caller. The caller does not see the
// end of ctx meanwhile: an AfterFunc waits for that, and stops the I/O.
func (p *Peer) runInline(ctx context.Context, c *call, e hostio.InlineIO) {
	if ctx.Done() == nil {
		e.Run()
	} else {
		unwatch := context.AfterFunc(ctx, c.onLeave)
		e.Run()
		if !unwatch() {
			<-c.gaveUp
		}
	}
	c.flight.inlineDone(c)
}

// giveUp ends c because the context of its caller is done.
func (c *call) giveUp() {
	if c.flight.leave(c, contextError(c.parent), MaybeSent) {
		c.left = true
		c.settle()
	}
	c.gaveUp <- struct{}{}
}

// inlineDone takes the I/O off c. After the end of the call it stays: what ended the
// call may be about to stop it.
func (f *inflight) inlineDone(c *call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !c.ended {
		c.inline = nil
	}
}

// stopInline gives up I/O that no caller will run.
func stopInline(e hostio.InlineIO) {
	e.Stop()
	e.Run()
}
