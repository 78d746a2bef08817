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

// resume takes up the session of old, which may be nil, on a new connection. It returns
// nil where a fresh connection is needed. The handshake is not made again, since the
// server would begin another session. All that it settled stays: revision, capabilities,
// epoch, and the ids that were used, none of which may come twice in a session
// (2025-11-25/basic#requests). Calls that were in flight have ended.
//
// A ping goes ahead of all calls. Its answer shows that the server still knows the
// session, and tells the transport that it may listen again, with the id of the last
// event. Where the server has forgotten the session, another is begun on the same
// connection. After any other error, nothing of old is tried again.
func (s *Session) resume(ctx context.Context, w *ConnectOptions, in *inbox, old *Conn, era mcp.Era) *agreedConn {
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
