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

// savedState is what the guest of one connection has saved for the guest of the next: see
// save and RESUME in package abi. It is kept in memory alone, with the connection that it
// belongs to, and is read once. How the connection ended decides who gets it:
//
//	how the connection ended                    the next guest, in a legacy session over HTTP
//	─────────────────────────────────────────── ─────────────────────────────────────────────
//	the guest trapped, or ran out of fuel,      gets what this one saved itself, and no
//	or its process was killed                   second initialize is sent
//	its plugin is another now (Host.Apply),     gets what this one saved, or else what it
//	and nothing else is                         was given itself; no DELETE is sent
//	the server forgot the session               no other guest: the same one shakes hands
//	the plugin gave up, or said FAILED          nothing: it said that the session is over
//	the server hung up, or broke the protocol   nothing
//	closed, disabled, removed, reloaded         nothing: the guest heard CLOSE, and DELETE
//	                                            was sent
//
// In all other sessions no state is handed over. A modern server keeps no session. If a
// connection is one stream, to a process or a socket, the session ends with it: even with the
// old state, a guest could not spare its server the handshake.
//
// A state is given to the same plugin, for the same entry and sign-in, see [resumeKey],
// and only once. If a guest crashes before it has saved a state of its own, the next one
// gets nothing: the state that it was given may be the cause.
type savedState struct {
	mu     sync.Mutex
	text   []byte // what the guest was given, until it saves its own; empty for nothing
	own    bool   // text was saved by this guest, and not given to it
	handed bool   // text is for the next guest, in any case
	closed bool   // nothing is written any more
}

// write is where a guest saves to. It does not keep state.
func (s *savedState) write(state []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if !s.own {
		s.text, s.own = nil, true // the guest may still read what it was given
	}
	s.text = append(s.text[:0], state...)
}

// handOver keeps what there is for the next guest, and reports whether that is anything.
func (s *savedState) handOver() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handed = s.handed || !s.closed && len(s.text) > 0
	return s.handed
}

// discard leaves nothing to the next guest, unless the connection had ended before.
func (s *savedState) discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.text, s.closed = nil, true
	}
}

// end is called when the connection has ended, with the reason.
func (s *savedState) end(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && !s.handed && !(s.own && guest.Crashed(cause)) {
		s.text = nil
	}
	s.closed = true
}

// read returns what is left to the next guest, nil for nothing.
func (s *savedState) read() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed || len(s.text) == 0 {
		return nil
	}
	return s.text
}

// resumeKey is what two connections must have in common for one to leave a state and the
// other to get it: the server entry to the letter, which says where it leads and with which
// headers; the plugin, by the name that the entry knows it by; and the account, with the
// number of its sign-ins and sign-outs. What a plugin calls itself is compared as well, once
// it runs.
type resumeKey struct {
	entry   [sha256.Size]byte
	via     string
	account *SharedAccount
	turns   uint64
}

// resumeKey returns the key of the connections that are dialled now. An entry that cannot be
// encoded matches no other.
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

// fits reports whether what was saved under k may be given to one of other.
func (k resumeKey) fits(other resumeKey) bool { return k == other && k.entry != [sha256.Size]byte{} }

// resume is dial for a connection whose guest goes on where the guest of an ended one
// stopped. It returns nil if that left no state, or none for this guest.
func (a *attempt) resume(ctx context.Context, handler rpc.Handler, after *session.Dialed) (*session.Dialed, error) {
	old, ok := after.Transport.(*connection)
	if !ok || old.saved.read() == nil || !old.key.fits(a.resumeKey()) {
		return nil, nil
	}
	return a.dial(ctx, handler, old)
}

// Leave ends the connection without telling the server, so that the next connection can
// go on with the session. If the guest has saved nothing to go on with, Leave is Shutdown.
func (c *connection) Leave(ctx context.Context) error {
	if c.saved.handOver() {
		c.trace.Closing()
		c.inst.Leave()
	}
	return c.Shutdown(ctx)
}
