package session

import (
	"slices"
	"sync"
	"time"
)

// listCache is a list that a session remembers. It is used again for as long as the
// server said it would stay fresh, over reconnections too, and until the server
// says that it changed (2026-07-28/server/utilities/caching). A session is one
// context of authorization, so the scope of the cache makes no difference.
type listCache[T any] struct {
	mu      sync.Mutex
	items   []T
	until   time.Time // when items are stale
	changes uint64    // counts the changes that the server told of
}

// fresh returns the list if it may be used again. The slice is the caller's.
func (c *listCache[T]) fresh() ([]T, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !time.Now().Before(c.until) {
		return nil, false
	}
	return slices.Clone(c.items), true
}

// change notes that the list is not what it was.
func (c *listCache[T]) change() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	c.until = time.Time{}
}

// count returns how often the list has changed: what keep wants to know of the
// moment when the list was asked for.
func (c *listCache[T]) count() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changes
}

// keep remembers a list that was asked for after that many changes, unless it
// has changed on its way.
func (c *listCache[T]) keep(items []T, until time.Time, as uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keepLocked(items, until, as)
}

func (c *listCache[T]) keepLocked(items []T, until time.Time, as uint64) {
	c.items, c.until = nil, time.Time{}
	if as == c.changes && until.After(time.Now()) {
		c.items, c.until = slices.Clone(items), until
	}
}
