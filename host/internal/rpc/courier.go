package rpc

import (
	"context"
	"sync"
)

// courier sends what nobody waits for: refusals and cancellations. Deliver must
// not call the link, and a caller that leaves must not be held up by it, so
// they leave their message here. A goroutine carries it, which is there while
// there is something to carry; it stops when the queue is empty or the link,
// whose context ends with the connection, refuses the rest.
type courier struct {
	link Link
	ctx  context.Context // ends with the connection
	sent func(*Message)  // sees every message first

	mu      sync.Mutex
	queue   []parcel
	running bool
	closed  bool
	dropped uint64
}

// parcel is a message, or a mark behind those that somebody waits for: it is closed
// when the courier comes to it.
type parcel struct {
	m    *Message
	mark chan struct{}
}

// maxCourier is how many messages wait. A server that has so many refusals
// coming and does not read them gets no more.
const maxCourier = 256

// post takes m over and returns at once.
func (c *courier) post(m *Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.queue) >= maxCourier {
		c.dropped++
		m.Free()
		return
	}
	c.queue = append(c.queue, parcel{m: m})
	if !c.running {
		c.running = true
		go c.run()
	}
}

func (c *courier) run() {
	var batch []parcel
	for c.take(&batch) {
		for i, p := range batch {
			batch[i] = parcel{}
			c.carry(p)
		}
	}
}

func (c *courier) carry(p parcel) {
	if p.mark != nil {
		close(p.mark)
		return
	}
	c.sent(p.m)
	if c.link.Send(c.ctx, p.m) != nil {
		c.lost()
	}
}

// take swaps the queue for the batch that has been carried. It returns false,
// and the goroutine ends, when there is nothing more.
func (c *courier) take(batch *[]parcel) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue, *batch = (*batch)[:0], c.queue
	c.running = len(*batch) > 0
	return c.running
}

// carried waits until the link has had all that was posted before, or until ctx ends.
func (c *courier) carried(ctx context.Context) error {
	mark := c.mark()
	if mark == nil {
		return nil
	}
	select {
	case <-mark:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// mark returns a mark behind what is in the queue, or nil where there is nothing.
func (c *courier) mark() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.running {
		return nil
	}
	mark := make(chan struct{})
	c.queue = append(c.queue, parcel{mark: mark})
	return mark
}

func (c *courier) lost() {
	c.mu.Lock()
	c.dropped++
	c.mu.Unlock()
}

// close drops what has not been carried and takes no more.
func (c *courier) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, p := range c.queue {
		if p.mark != nil {
			close(p.mark)
		} else {
			p.m.Free()
		}
	}
	c.queue = nil
}

func (c *courier) unsaid() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dropped
}
