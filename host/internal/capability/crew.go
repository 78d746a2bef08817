package capability

import "sync"

// maxSpare is how many goroutines of a table wait for an exchange to carry.
const maxSpare = 16

// crew carries exchanges. A goroutine that is done with one waits for the next:
// its stack has grown to what net/http needs, and growing another one costs as
// much as all that this package does for an exchange.
type crew struct {
	next  chan *exchange
	spare chan struct{} // holds one token for each goroutine that waits
	over  chan struct{} // closed when nothing more will come
	once  sync.Once     // closes over
	hands sync.WaitGroup
}

func newCrew() *crew {
	return &crew{next: make(chan *exchange), spare: make(chan struct{}, maxSpare), over: make(chan struct{})}
}

// carry has x carried, and does not wait for it.
func (c *crew) carry(x *exchange) {
	select {
	case c.next <- x:
	default:
		c.hands.Go(func() { c.work(x) })
	}
}

func (c *crew) work(x *exchange) {
	for x != nil {
		x.run()
		x = c.wait()
	}
}

// wait returns the next exchange, or nil when there is none or there are enough
// who wait for it.
func (c *crew) wait() *exchange {
	select {
	case c.spare <- struct{}{}:
	default:
		return nil
	}
	defer func() { <-c.spare }()
	select {
	case x := <-c.next:
		return x
	case <-c.over:
		return nil
	}
}

// close returns when nobody waits any more. No exchange is left. It may be
// called again.
func (c *crew) close() {
	c.once.Do(func() { close(c.over) })
	c.hands.Wait()
}
