package daemon

import (
	"sync"
	"time"
)

// Clients counts the clients of a daemon, and says when there has been none for a while.
type Clients struct {
	idle time.Duration
	over func()

	mu    sync.Mutex
	count int
	timer *time.Timer // while there is no client; nil if it is to stay for ever
	past  bool        // over was called
}

// Await returns a count that calls over, once, when there has been no client for the time idle. 0 is
// for ever. The caller calls Stop.
func Await(idle time.Duration, over func()) *Clients {
	c := &Clients{idle: idle, over: over}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waitLocked()
	return c
}

// Enter counts a client, which calls Leave. It returns false if over was called.
func (c *Clients) Enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.past {
		return false
	}
	c.count++
	c.stopLocked()
	return true
}

// Leave is the end of a client.
func (c *Clients) Leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count--; c.count == 0 && !c.past {
		c.waitLocked()
	}
}

// Stop ends the waiting: over is not called any more.
func (c *Clients) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.past = true
	c.stopLocked()
}

func (c *Clients) stopLocked() {
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}

func (c *Clients) waitLocked() {
	if c.idle <= 0 {
		return
	}
	var mine *time.Timer
	mine = time.AfterFunc(c.idle, func() {
		c.mu.Lock()
		now := c.timer == mine && !c.past
		c.past = c.past || now
		c.mu.Unlock()
		if now {
			c.over()
		}
	})
	c.timer = mine
}
