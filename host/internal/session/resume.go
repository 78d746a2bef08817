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
func (s *Session) resume(ctx context.Context, w *Way, in *inbox, old *Conn, era mcp.Era) *link {
	if w.Resume == nil || old == nil || !old.outlives() {
		return nil
	}
	l := *old.agreed.Load()
	if l.info.Transport != w.Transport {
		return nil
	}
	ctx, cancel := w.start(ctx)
	defer cancel()
	d, err := w.Resume(ctx, in, old.Dialed)
	if d == nil || err != nil {
		return nil // the fresh one finds out why
	}
	l.Conn, l.timeout = newConn(d, in, old.epoch), w.Timeout
	l.agreed.Store(&l)
	d.Peer.Agree(terms(d, l.epoch, l.dialect.revision))
	call := rpc.Call{Method: mcp.MethodPing, Timeout: pingTimeout}
	if w.Timeout > 0 {
		call.Timeout = min(w.Timeout, pingTimeout)
	}
	_, err = d.Peer.Call(ctx, call)
	if err == nil || answered(err) && statusOf(err) < 300 {
		return &l // any answer to the request itself is a sign of life
	}
	if l.Forgotten() {
		if fresh, err := s.openOn(ctx, w, newConn(d, in, l.epoch+1), era); err == nil {
			return fresh
		}
	} else if ctx.Err() == nil {
		s.cfg.Warn(fmt.Sprintf("its session could not be taken up again, and another is begun: %v", err))
	}
	d.close()
	return nil
}
