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
	idleTime      = 30 * time.Minute // a client that sends nothing is kept
)

// usage is the requests of one principal that are being answered.
type usage struct {
	requests int
	bytes    int64
}

// admission is what one HTTP request takes of the bounds of its principal. It is given back when all
// who hold it have released it: the handler, and each request of the message that is being served, whose
// params are kept even if the client hangs up.
type admission struct {
	handler   *handler
	principal string
	size      int64 // bytes of the body
	holders   int   // guarded by mu of the handler
}

// admit takes in a request with a body of so many bytes, which the caller releases. It returns nil if
// the principal has as many as it may.
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

// full returns why a principal may have no more clients; "" if it may. The caller holds mu.
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

// retainClient keeps a client in use beyond a request that it is in, until release is called.
func (h *handler) retainClient(c *keptClient) (release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.useClient(c)
	return func() { h.releaseClient(c) }
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
