package connect

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/session"
)

// savedState is the state that the guest of one connection has saved for the guest of the next: see
// save and RESUME in package abi. It is kept only in memory, with its connection. How the
// connection ended decides which guest gets it:
//
//	how the connection ended                    the next guest, in a legacy session over HTTP
//	─────────────────────────────────────────── ─────────────────────────────────────────────
//	the guest trapped, or ran out of fuel,      gets what this one saved itself, and no
//	or its process was killed                   second initialize is sent
//	the file of its plugin has changed          gets what this one saved, or else what it
//	(Host.Apply), and nothing else              was given itself; no DELETE is sent
//	the server forgot the session               no other guest: the same one shakes hands
//	the plugin gave up, or said FAILED          nothing: it said that the session is over
//	the server hung up, or broke the protocol   nothing
//	closed, disabled, removed, reloaded         nothing: the guest heard CLOSE, and DELETE
//	                                            was sent
//
// In all other sessions no state is handed over. A modern server keeps no session. A connection
// that is one stream, to a process or a socket, ends its session: even with the old state, a guest
// could not avoid the handshake.
//
// A state is given only to a plugin of the same name, for the same entry and sign-in, see
// [resumeKey]. If a guest crashes before it has saved a state of its own, the next guest gets
// nothing, because the state that it was given may be the cause.
type savedState struct {
	mu     sync.Mutex
	text   []byte // the state that the guest was given, until it saves its own; empty for none
	own    bool   // text was saved by this guest, and not given to it
	handed bool   // text goes to the next guest, however the connection ends
	closed bool   // nothing can be saved any more
}

// write stores the state that a guest saves. It copies state.
func (s *savedState) write(state []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if !s.own {
		s.text, s.own = nil, true // not overwritten: the guest may still read the old state
	}
	s.text = append(s.text[:0], state...)
}

// handOver keeps the state for the next guest, and reports whether there is one.
func (s *savedState) handOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handed = s.handed || !s.closed && len(s.text) > 0
	return s.handed
}

// discard drops the state, unless the connection had ended before.
func (s *savedState) discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.text, s.closed = nil, true
	}
}

// end closes the state when the connection has ended with cause.
func (s *savedState) end(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && !s.handed && !(s.own && guest.Crashed(cause)) {
		s.text = nil
	}
	s.closed = true
}

// read returns the state for the next guest, or nil.
func (s *savedState) read() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed || len(s.text) == 0 {
		return nil
	}
	return s.text
}

// resumeKey is equal for two connections if the first may leave a state to the second. It holds the
// exact server entry, which includes the address and the headers; the name by which the entry knows
// the plugin; and the account, with the number of its sign-ins and sign-outs. The name in the
// plugin's manifest is compared as well, once the plugin runs.
type resumeKey struct {
	entry   [sha256.Size]byte
	via     string
	account *SharedAccount
	turns   uint64
}

// resumeKey returns the key of a connection that is dialled now. An entry that cannot be encoded
// matches no other.
func (a *attempt) resumeKey() resumeKey {
	k := resumeKey{via: a.via, account: a.account}
	if entry, err := json.Marshal(a.server); err == nil {
		k.entry = sha256.Sum256(entry)
	}
	if a.account != nil {
		k.turns = a.account.Turns.Load()
	}
	return k
}

// fits reports whether a connection with the key other may get a state that was saved under k.
func (k resumeKey) fits(other resumeKey) bool { return k == other && k.entry != [sha256.Size]byte{} }

// resume dials a connection whose guest goes on where the guest of after stopped. It returns nil if
// after left no state, or none for this guest.
func (a *attempt) resume(ctx context.Context, handler rpc.Handler, after *session.Dialed) (*session.Dialed, error) {
	old, ok := after.Transport.(*connection)
	if !ok || old.saved.read() == nil || !old.key.fits(a.resumeKey()) {
		return nil, nil
	}
	return a.dial(ctx, handler, old)
}

// Leave ends the connection without telling the server, so that the next connection can go on with
// the session. If the guest has saved no state, Leave is Shutdown.
func (c *connection) Leave(ctx context.Context) error {
	if c.saved.handOver() {
		c.trace.Closing()
		c.inst.Leave()
	}
	return c.Shutdown(ctx)
}
