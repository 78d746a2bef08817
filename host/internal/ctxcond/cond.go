// Package ctxcond has a condition variable whose waiters can give up.
package ctxcond

import (
	"context"
	"sync"
)

// Cond is a condition variable. A mutex of its owner guards it: the caller of every method holds
// that mutex. The zero value is ready.
type Cond struct{ next chan struct{} }

// Await unlocks mu, waits for the next Broadcast and locks mu again. If ctx ends first, Await
// returns the cause of ctx.
func (c *Cond) Await(ctx context.Context, mu *sync.Mutex) error {
	next := c.Next()
	mu.Unlock()
	defer mu.Lock()
	select {
	case <-next:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Next returns a channel that the next Broadcast closes.
func (c *Cond) Next() <-chan struct{} {
	if c.next == nil {
		c.next = make(chan struct{})
	}
	return c.next
}

// Awaited reports whether Await or Next was called since the last Broadcast.
func (c *Cond) Awaited() bool { return c.next != nil }

// Broadcast wakes all waiters.
func (c *Cond) Broadcast() {
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}
