package session

import (
	"context"
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// pingTimeout bounds how long a server may take to say that it still knows a session. The
// specification wants a prompt answer (2025-11-25/basic/utilities/ping). A server that is slower
// can still get a handshake.
const pingTimeout = 10 * time.Second

// resume continues the session of old, which may be nil, on a new connection. It returns nil if a
// fresh connection is needed. It makes no handshake, since the server would begin another session.
// All outcomes of the old one stay: revision, capabilities and epoch. The ids that were used stay
// used, because none may come twice in a session (2025-11-25/basic#requests). Calls that were in
// flight have ended.
//
// A ping goes ahead of all calls. Its answer shows that the server still knows the session, and
// tells the transport that it may listen again, from the id of the last event. If the server has
// forgotten the session, another one is begun on the same connection. After any other error, old is
// not resumed again.
func (s *Session) resume(ctx context.Context, w *ConnectOptions, in *inbox, old *Conn, era mcp.Era) *agreedConn {
	if w.Resume == nil || old == nil || !old.sessionOutlives() {
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
		return nil // the fresh connection finds the reason
	}
	l.Conn, l.timeout = newConn(d, in, old.epoch), w.Timeout
	l.agreed.Store(&l)
	d.Peer.Agree(terms(d, l.epoch, l.dialect.revision))
	call := rpc.Call{Method: mcp.MethodPing, Timeout: pingTimeout}
	if w.Timeout > 0 {
		call.Timeout = min(w.Timeout, pingTimeout)
	}
	_, err = d.Peer.Call(ctx, &call, nil)
	if saysAlive(err) {
		l.pinged.Store(true)
		return &l
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
