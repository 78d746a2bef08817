package rpc

import (
	"context"

	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// OfferInline offers I/O of an exchange to the caller that waits for its answer. It
// reports whether there is one, which then runs it, even if its call ends meanwhile.
// OfferInline does not wait. Only the link may call it, as it calls Deliver.
func (p *Peer) OfferInline(exchange uint32, e hostio.InlineIO) bool {
	return p.flight.lend(exchange, e)
}

// lend gives an errand to the caller of an exchange, who has one at a time. It
// lies in the channel with room for it and the end of the call.
func (f *inflight) lend(exchange uint32, e hostio.InlineIO) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.pending[exchange]
	if c == nil || c.errand != nil {
		return false
	}
	c.errand = e
	c.done <- e
	return true
}

// carry runs an errand for c, on the goroutine of its caller, who does not see
// the end of ctx meanwhile: somebody else looks out for that, and stops it.
func (p *Peer) carry(ctx context.Context, c *call, e hostio.InlineIO) {
	if ctx.Done() == nil {
		e.Run()
	} else {
		unwatch := context.AfterFunc(ctx, c.onLeave)
		e.Run()
		if !unwatch() {
			<-c.gaveUp
		}
	}
	c.flight.returned(c)
}

// giveUp ends c because the context of its caller is done.
func (c *call) giveUp() {
	if c.flight.leave(c, contextError(c.parent), MaybeSent) {
		c.left = true
		c.settle()
	}
	c.gaveUp <- struct{}{}
}

// returned takes the errand off c. After the end of the call it stays, for
// whoever has ended it may be looking for one to stop.
func (f *inflight) returned(c *call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !c.ended {
		c.errand = nil
	}
}

// forgo gives an errand up that nobody will wait for.
func forgo(e hostio.InlineIO) {
	e.Stop()
	e.Run()
}
