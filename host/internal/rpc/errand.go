package rpc

import "context"

// Errand is what is left to do for a message that has gone out, and takes as
// long as its server likes: a request over HTTP, say. Whoever waits for the
// answer may do it on its own goroutine, which spares waking another one twice,
// once to begin and once to be told of the end.
type Errand = interface {
	// Run does it, as far as it is short, and leaves the rest to others. It is
	// called once. The answer may come while it runs, through Deliver.
	Run()

	// Stop says that whoever runs it, or is about to, must leave: Run returns as
	// soon as it can. Anyone may call it, at any time; it does not wait.
	Stop()
}

// Carry offers an errand to whoever waits for the exchange. It reports whether
// there is somebody, who then runs it, whatever becomes of the call. Carry does
// not wait, and like Deliver it is the link's to call.
func (p *Peer) Carry(exchange uint32, e Errand) bool { return p.flight.lend(exchange, e) }

// lend gives an errand to the caller of an exchange, who has one at a time. It
// lies in the channel with room for it and the end of the call.
func (f *inflight) lend(exchange uint32, e Errand) bool {
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
func (p *Peer) carry(ctx context.Context, c *call, e Errand) {
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
func forgo(e Errand) {
	e.Stop()
	e.Run()
}
