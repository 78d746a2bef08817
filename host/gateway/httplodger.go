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

// account is the requests of one principal that are being answered.
type account struct {
	requests int
	bytes    int64
}

// begin reports whether a principal may make another request, with a body of so many bytes. If so,
// over has to follow.
func (h *handler) begin(principal string, size int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.accounts[principal]
	if a.requests >= maxRequestsOf || a.requests > 0 && a.bytes+size > maxBytesOf {
		return false
	}
	h.accounts[principal] = account{a.requests + 1, a.bytes + size}
	return true
}

func (h *handler) over(principal string, size int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	a := h.accounts[principal]
	if h.accounts[principal] = (account{a.requests - 1, a.bytes - size}); a.requests == 1 {
		delete(h.accounts, principal)
	}
}

// lodger is a client that is kept between its requests, while it is used or not idle for long. Its
// fields are guarded by mu of the handler.
type lodger struct {
	forget func() // takes it out of the maps of the handler; called once, with mu held
	end    func() // ends it; called once, after forget
	using  int    // requests that it is in
	gone   bool
	left   time.Time   // when using fell to 0
	timer  *time.Timer // runs while using is 0
}

// lodge takes in a client that is in one request. It fails if the gateway is closed. The caller holds
// mu.
func (h *handler) lodge(l *lodger) error {
	g := h.gateway
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrClosed
	}
	g.clients.Add(1)
	l.using = 1
	l.timer = time.AfterFunc(h.idle, func() { h.evict(l, true) })
	l.timer.Stop()
	return nil
}

// enter has a client be used by another request. The caller holds mu, and has found it in a map.
func (h *handler) enter(l *lodger) {
	l.using++
	l.timer.Stop()
}

// leave ends what lodge or enter began.
func (h *handler) leave(l *lodger) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.using--; l.using == 0 && !l.gone {
		l.left = time.Now()
		l.timer.Reset(h.idle)
	}
}

// evict ends a client; if only says so, only one that is not used.
func (h *handler) evict(l *lodger, only bool) {
	h.mu.Lock()
	if l.gone || only && l.using > 0 {
		h.mu.Unlock()
		return
	}
	l.gone = true
	l.timer.Stop()
	l.forget()
	h.mu.Unlock()
	l.end()
	h.gateway.clients.Done()
}
