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
	queue   []*Message
	running bool
	rest    chan struct{} // closed when it runs no more; nil before it ever did
	closed  bool
	dropped uint64
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
	c.queue = append(c.queue, m)
	if !c.running {
		c.running, c.rest = true, make(chan struct{})
		go c.run()
	}
}

func (c *courier) run() {
	var batch []*Message
	for c.take(&batch) {
		for i, m := range batch {
			batch[i] = nil
			c.sent(m)
			if c.link.Send(c.ctx, m) != nil {
				c.lost()
			}
		}
	}
}

// take swaps the queue for the batch that has been carried. It returns false,
// and the goroutine ends, when there is nothing more.
func (c *courier) take(batch *[]*Message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue, *batch = (*batch)[:0], c.queue
	if c.running = len(*batch) > 0; !c.running {
		close(c.rest)
	}
	return c.running
}

// carried waits until the link has had all that was posted, or until ctx ends.
func (c *courier) carried(ctx context.Context) error {
	c.mu.Lock()
	running, rest := c.running, c.rest
	c.mu.Unlock()
	if !running {
		return nil
	}
	select {
	case <-rest:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
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
	for _, m := range c.queue {
		m.Free()
	}
	c.queue = nil
}

func (c *courier) unsaid() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dropped
}
