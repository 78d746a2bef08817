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
//
// Before a ping was answered, and where no word speaks of a session, the server may know no ping, and
// refuse all that it cannot use in the same words. Then another session decides: if a ping is answered
// there, the server knows pings, and did not know the old session. A message that it refused in the words
// of that ping was refused for the same reason, before the server acted on it, and goes out once more.

// checkSession pings the server if err, the end of a message on l, may mean that the server has
// forgotten the session. Afterwards [Conn.Forgotten] says whether it has, or may have.
func (l *agreedConn) checkSession(ctx context.Context, err error) {
	doubted := l.doubtsSession(err)
	if !doubted && !l.deniesSession(err) {
		return
	}
	said := l.ping(ctx)
	l.heed(said)
	switch {
	case !doubted || l.pinged.Load() || l.sessionForgotten():
	case statusOf(said) == 400 && refusalWords(said) == refusalWords(err):
		l.guessed.Store(true)
		l.forget(said)
	default:
		l.pingless.Store(true)
	}
}

// ping pings the server in the session of l, and returns the end of the ping.
func (l *agreedConn) ping(ctx context.Context) error {
	_, err := l.Peer.Call(ctx, &rpc.Call{Method: mcp.MethodPing, Timeout: min(l.replyTimeout(), pingTimeout)}, nil)
	return err
}

// settleGuess pings the server in l, a new session. Messages that were refused in the old one go out in l
// only if the ping is answered.
func (l *agreedConn) settleGuess(ctx context.Context) {
	l.heed(l.ping(ctx))
	l.pingless.Store(!l.pinged.Load())
}

// passes reports whether a message that failed on l with err, and that [Session.missed] has found
// missed, may go out on next. After a guess only an answered ping in next shows that the guess was right.
func (l *agreedConn) passes(next *agreedConn, err error) bool {
	return !l.guessed.Load() || statusOf(err) != 400 || next.pinged.Load()
}

// heed takes the end of a ping, err, as the server's word on the session.
func (l *agreedConn) heed(err error) {
	switch {
	case saysAlive(err):
		l.pinged.Store(true)
	case l.deniesSession(err):
		l.forget(err)
	}
}

// forget takes err, the end of a ping, for the server's word that it has forgotten the session.
func (l *agreedConn) forget(err error) {
	words := refusalWords(err)
	l.denial.Store(&words)
	l.Peer.Forget(l.epoch)
}

// deniesSession reports whether err may be a refusal of the session of l. Where no ping was
// answered in that session, the server may know no ping: then the refusal has to speak of a session.
func (l *agreedConn) deniesSession(err error) bool {
	return statusOf(err) == 400 && l.sessionOutlives() &&
		(l.pinged.Load() || strings.Contains(strings.ToLower(refusalWords(err)), "session"))
}

// doubtsSession reports whether err may be a refusal of the session of l although nothing says so. A
// server that refused a ping otherwise is not asked again.
func (l *agreedConn) doubtsSession(err error) bool {
	return statusOf(err) == 400 && l.sessionOutlives() && !l.pinged.Load() && !l.pingless.Load() && !l.deniesSession(err)
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
