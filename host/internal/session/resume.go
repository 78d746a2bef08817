package session

import (
	"context"
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// pingTimeout bounds how long a server may take to say that it still knows a session.
// It is asked to answer promptly (2025-11-25/basic/utilities/ping), and one that does
// not is still good for a handshake.
const pingTimeout = 10 * time.Second

// resume takes up the session of old, which may be nil, on a new connection, or
// returns nil: then a fresh one is to be made. The handshake is not made again, which
// the server would take for another session, and all that it settled is as it was:
// revision, capabilities, epoch, and the ids that are used up, of which none may come
// twice in a session (2025-11-25/basic#requests). Calls that were in flight have ended.
//
// One request goes ahead of all calls: by its answer the server shows that it still
// knows the session, and a transport that it has heard from, so that it may listen
// again, with the id of the last event. Where the server has forgotten the session,
// another is begun on the same connection. Whatever else goes wrong, nothing of old is
// tried again.
func (s *Session) resume(ctx context.Context, a *attempt, in *inbox, old *link, era mcp.Era) *link {
	if a.Resume == nil || old == nil || old.info.Transport != a.Transport || !old.resumable() {
		return nil
	}
	ctx, cancel := a.start(ctx)
	defer cancel()
	conn, err := a.Resume(ctx, in, old.conn)
	if conn == nil || err != nil {
		return nil // the fresh one finds out why
	}
	l := *old
	l.Link = s.newLink(conn, in, old.epoch)
	conn.Peer.Agree(terms(conn, l.epoch, l.dialect.revision))
	err = l.greeted(ctx, a)
	if err == nil {
		return &l
	}
	if l.forgotten() {
		if fresh, err := s.shake(ctx, a, s.newLink(conn, in, l.epoch+1), era); err == nil {
			return fresh
		}
	} else if ctx.Err() == nil {
		a.warn(fmt.Sprintf("its session could not be taken up again, and another is begun: %v", err))
	}
	conn.close()
	return nil
}

// greeted asks the server of a session that goes on for a sign of life. Any answer to
// the request itself is one.
func (l *link) greeted(ctx context.Context, a *attempt) error {
	call := rpc.Call{Method: mcp.MethodPing, Timeout: pingTimeout}
	if a.Timeout > 0 {
		call.Timeout = min(a.Timeout, pingTimeout)
	}
	_, err := l.conn.Peer.Call(ctx, call)
	if answered(err) && statusOf(err) < 300 {
		return nil
	}
	return err
}

// outlives reports whether what the handshake of k made at the server can go on
// without the connection: it is a session with a name of its own. Of that era and
// transport alone.
func (k *Link) outlives() bool {
	return k.conn.http() && mcp.EraOf(k.conn.Peer.Version()) == mcp.Legacy && !k.lapsed()
}

// resumable reports, once, whether another connection may go on with k's session.
func (k *Link) resumable() bool {
	if !k.outlives() {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	again := k.resumed
	k.resumed = true
	return !again
}

// Forsake has no other connection go on with the session of k, which may be nil. What
// is to make the next connection is called after it.
func (k *Link) Forsake() {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.resumed, k.handed = true, false
}

// HandOver has Close leave the session at the server to the next connection, if there
// is one that can be left; it reports whether that is so. After Forsake it is not. k
// may be nil.
func (k *Link) HandOver() bool {
	if k == nil || !k.outlives() {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.handed = !k.resumed
	return k.handed
}

// leaves reports whether the session of k is left to the next connection.
func (k *Link) leaves() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.handed && k.outlives()
}
