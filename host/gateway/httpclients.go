package gateway

import (
	"fmt"
	"time"
)

// Bounds of what clients over HTTP may hold.
const (
	maxSessions   = 1024             // legacy sessions, and modern clients that are kept, of all principals
	maxClientsOf  = 256              // of these, those of one principal
	maxSessionsOf = 64               // legacy sessions of one principal at one path
	maxModernsOf  = 16               // modern clients of one principal at one path, by capabilities
	maxRequestsOf = 256              // HTTP requests of one principal, at once, with a message
	maxBytesOf    = 128 << 20        // of their bodies
	idleTime      = 30 * time.Minute // how long a client that sends nothing is kept
)

// usage is the requests of one principal that are being answered.
type usage struct {
	requests int
	bytes    int64
}

// admission is the share of its principal's bounds that one HTTP request uses. The handler holds it, and
// so does each request of the message that is being served: the params stay in memory even if the client
// hangs up. The share is given back when all of them have released it.
type admission struct {
	handler   *handler
	principal string
	size      int64 // bytes of the body
	holders   int   // guarded by mu of the handler
}

// admit returns the admission of a request with a body of size bytes. The caller releases it. admit
// returns nil if the principal is at its bounds.
func (h *handler) admit(principal string, size int64) *admission {
	h.mu.Lock()
	defer h.mu.Unlock()
	u := h.usage[principal]
	if u.requests >= maxRequestsOf || u.requests > 0 && u.bytes+size > maxBytesOf {
		return nil
	}
	h.usage[principal] = usage{u.requests + 1, u.bytes + size}
	return &admission{handler: h, principal: principal, size: size, holders: 1}
}

func (a *admission) hold() {
	a.handler.mu.Lock()
	defer a.handler.mu.Unlock()
	a.holders++
}

func (a *admission) release() {
	h := a.handler
	h.mu.Lock()
	defer h.mu.Unlock()
	if a.holders--; a.holders > 0 {
		return
	}
	u := h.usage[a.principal]
	if h.usage[a.principal] = (usage{u.requests - 1, u.bytes - a.size}); u.requests == 1 {
		delete(h.usage, a.principal)
	}
}

// keptClient is a client that is kept between its requests, until it has been idle for too long. mu of
// the handler guards its fields.
type keptClient struct {
	handler        *handler
	removeFromMaps func() // removes it from the maps of the handler; called once, with mu held
	closeClient    func() // ends it; called once, after removeFromMaps
	users          int    // the requests that use it
	evicted        bool
	idleSince      time.Time   // when users fell to 0
	timer          *time.Timer // runs while users is 0
}

// full returns why a principal may not have another client, or "" if it may. The caller holds mu.
func (h *handler) full(principal string) (why string) {
	own := 0
	for _, s := range h.sessions {
		if s.principal == principal {
			own++
		}
	}
	for key := range h.moderns {
		if key.principal == principal {
			own++
		}
	}
	switch {
	case own >= maxClientsOf:
		return fmt.Sprintf("this client has %d sessions at all paths, which is the most: end one with DELETE", maxClientsOf)
	case len(h.sessions)+len(h.moderns) >= maxSessions:
		return fmt.Sprintf("%d sessions are open, which is the most", maxSessions)
	}
	return ""
}

// addClient keeps a new client that one request uses. It returns an error if the gateway is closed. The
// caller holds mu.
func (h *handler) addClient(c *keptClient) error {
	g := h.gateway
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrClosed
	}
	g.clients.Add(1)
	c.handler, c.users = h, 1
	c.timer = time.AfterFunc(h.idle, func() { h.evictIfIdle(c) })
	c.timer.Stop()
	return nil
}

// useClient counts another request that uses a client. The caller holds mu, and has found the client
// in a map.
func (h *handler) useClient(c *keptClient) {
	c.users++
	c.timer.Stop()
}

// retainClient keeps a client in use beyond the request that uses it, until release is called.
func (h *handler) retainClient(c *keptClient) (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.useClient(c)
	return func() { h.releaseClient(c) }
}

// releaseClient ends one use of a client, which addClient or useClient began.
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

// evictIfIdle ends a client unless a request uses it.
func (h *handler) evictIfIdle(c *keptClient) {
	if h.removeIfIdle(c) {
		h.end(c)
	}
}

// removeIfIdle removes a client unless a request uses it. If it returns true, the caller must call end.
func (h *handler) removeIfIdle(c *keptClient) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return c.users == 0 && c.remove()
}

// idle reports whether no request uses a client, and since when.
func (c *keptClient) idle() (since time.Time, idle bool) {
	c.handler.mu.Lock()
	defer c.handler.mu.Unlock()
	return c.idleSince, c.users == 0
}

// isEvicted reports whether a client has been removed.
func (c *keptClient) isEvicted() bool {
	c.handler.mu.Lock()
	defer c.handler.mu.Unlock()
	return c.evicted
}

// remove removes a client from the maps. It returns false if that was done before. The caller holds
// mu. If remove returns true, the caller must call end after it has released mu.
func (c *keptClient) remove() bool {
	if c.evicted {
		return false
	}
	c.evicted = true
	c.timer.Stop()
	c.removeFromMaps()
	return true
}

// end closes a client for which remove has returned true. It waits until the client has left its
// servers.
func (h *handler) end(c *keptClient) {
	c.closeClient()
	h.gateway.clients.Done()
}
