package session

import (
	"context"
	"errors"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// A server that has lost its sessions answers with 404, which the transport understands
// (2025-11-25/basic/transports#session-management). Many servers answer with 400 instead, which also
// says that something is wrong with one request. What tells the two apart is a ping of the same
// session: there is nothing wrong with a ping.

// checkSession pings the server if err, the end of a message on l, may mean that the server has
// forgotten the session. Afterwards [Conn.Forgotten] says whether it has.
func (l *agreedConn) checkSession(ctx context.Context, err error) {
	if !l.deniesSession(err) {
		return
	}
	_, err = l.Peer.Call(ctx, &rpc.Call{Method: mcp.MethodPing, Timeout: min(l.replyTimeout(), pingTimeout)}, nil)
	l.heed(err)
}

// heed takes the end of a ping, err, as the server's word on the session.
func (l *agreedConn) heed(err error) {
	switch {
	case saysAlive(err):
		l.pinged.Store(true)
	case l.deniesSession(err):
		words := refusalWords(err)
		l.denial.Store(&words)
		l.Peer.Forget(l.epoch)
	}
}

// deniesSession reports whether err may be a refusal of the session of l. Where no ping was
// answered in that session, the server may know no ping: then the refusal has to speak of a session.
func (l *agreedConn) deniesSession(err error) bool {
	return statusOf(err) == 400 && l.sessionOutlives() &&
		(l.pinged.Load() || strings.Contains(strings.ToLower(refusalWords(err)), "session"))
}

// deniedAlike reports whether the server refused a message with err in the words in which it refused
// the ping. Then it has not acted on the message.
func (l *agreedConn) deniedAlike(err error) bool {
	denial := l.denial.Load()
	return denial != nil && statusOf(err) == 400 && refusalWords(err) == *denial
}

// saysAlive reports whether err, the end of a ping, shows that the server knows the session. Any
// answer to the request itself does.
func saysAlive(err error) bool { return err == nil || answered(err) && statusOf(err) < 300 }

// refusalWords returns in what words a server refused a request, or "". They are bounded.
func refusalWords(err error) string {
	var fault *rpc.Error
	var failure *rpc.StatusError
	switch {
	case errors.As(err, &fault):
		return fault.Error()
	case errors.As(err, &failure):
		return failure.Error()
	}
	return ""
}
