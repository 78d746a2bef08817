package gateway

import (
	"time"
)

// Bounds of what clients over HTTP may hold.
const (
	maxSessions   = 1024             // legacy sessions, and modern clients that are kept, of all principals
	maxSessionsOf = 64               // legacy sessions of one principal at one path
	maxModernsOf  = 4                // modern clients of one principal at one path, by capabilities
	maxRequestsOf = 256              // HTTP requests of one principal, at once, with a message
	maxBytesOf    = 128 << 20        // of their bodies
	idleTime      = 30 * time.Minute // a client that sends nothing is kept
)

// usage is the requests of one principal that are being answered.
type usage struct {
	requests int
	bytes    int64
}

// beginRequest reports whether a principal may make another request, with a body of so many bytes. If so,
// endRequest has to follow.
func (h *handler) beginRequest(principal string, size int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.usage[principal]
	if a.requests >= maxRequestsOf || a.requests > 0 && a.bytes+size > maxBytesOf {
		return false
	}
	h.usage[principal] = usage{a.requests + 1, a.bytes + size}
	return true
}

func (h *handler) endRequest(principal string, size int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.usage[principal]
	if h.usage[principal] = (usage{a.requests - 1, a.bytes - size}); a.requests == 1 {
		delete(h.usage, principal)
	}
}

// keptClient is a client that is kept between its requests, while it is used or not idle for long. Its
// fields are guarded by mu of the handler.
type keptClient struct {
	removeFromMaps func() // takes it out of the maps of the handler; called once, with mu held
	closeClient    func() // ends it; called once, after removeFromMaps
	users          int    // requests that it is in
	evicted        bool
	idleSince      time.Time   // when users fell to 0
	timer          *time.Timer // runs while users is 0
}

// addClient keeps a client, which one request uses. It fails if the gateway is closed. The caller holds
// mu.
func (h *handler) addClient(c *keptClient) error {
	g := h.gateway
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrClosed
	}
	g.clients.Add(1)
	c.users = 1
	c.timer = time.AfterFunc(h.idle, func() { h.evictIfIdle(c) })
	c.timer.Stop()
	return nil
}

// useClient has a client be used by another request. The caller holds mu, and has found it in a map.
func (h *handler) useClient(c *keptClient) {
	c.users++
	c.timer.Stop()
}

// releaseClient says that a request has ended for which addClient or useClient was called.
func (h *handler) releaseClient(c *keptClient) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.users--; c.users == 0 && !c.evicted {
		c.idleSince = time.Now()
		c.timer.Reset(h.idle)
	}
}

// evict ends a client, even one that is used.
func (h *handler) evict(c *keptClient) {
	h.mu.Lock()
	removed := c.remove()
	h.mu.Unlock()
	if removed {
		h.end(c)
	}
}

// evictIfIdle ends a client that is not used.
func (h *handler) evictIfIdle(c *keptClient) {
	h.mu.Lock()
	removed := c.users == 0 && c.remove()
	h.mu.Unlock()
	if removed {
		h.end(c)
	}
}

// remove takes a client out of the maps. It reports false if that was done before. The caller holds
// mu, and calls end without it.
func (c *keptClient) remove() bool {
	if c.evicted {
		return false
	}
	c.evicted = true
	c.timer.Stop()
	c.removeFromMaps()
	return true
}

// end closes a client that was removed.
func (h *handler) end(c *keptClient) {
	c.closeClient()
	h.gateway.clients.Done()
}
