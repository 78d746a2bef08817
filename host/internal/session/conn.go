package session

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// Dialed is the result of a dial: a transport, and the peer that speaks over it.
type Dialed struct {
	Transport
	Peer         *rpc.Peer
	StreamCancel bool      // the transport itself shows the server that a caller has left
	Probe        abi.Probe // how the handshake finds the era of the server
}

// http reports whether every message is an HTTP request of its own. Such a message has headers, and
// its response has a status, also if it holds no answer.
func (d *Dialed) http() bool { return d.Probe == abi.ProbeHTTP }

// Transport is a connection as a session sees it: it can end, say why, and be closed.
type Transport interface {
	// Done is closed when the connection has ended, from either side. The peer
	// is closed at about the same time, so that no call waits any longer.
	Done() <-chan struct{}

	// AfterEnd runs f in a goroutine of its own once Done is closed, unless stop is called
	// before.
	AfterEnd(f func()) (stop func() bool)

	// Err says why the connection ended, in words for a user: an exit code, the last lines of
	// stderr. It is nil until Done is closed.
	Err() error

	// Shutdown ends the connection. It returns when nothing of the connection is left, or when ctx
	// ends. It may be called more than once. After the connection has ended, it releases what the
	// transport still holds. It does not wait for handlers of the peer.
	Shutdown(ctx context.Context) error

	// Leave is Shutdown without a message to the server, so that [ConnectOptions.Resume] can go on
	// with the server's session.
	Leave(ctx context.Context) error
}

// Conn is a connection whose handshake has succeeded, so that the session is open on it. The
// [Connections] of the session own it: only they give it to callers and close it.
type Conn struct {
	*Dialed
	inbox  *inbox
	epoch  uint32                     // counts the handshakes on this Dialed, from 1
	agreed atomic.Pointer[agreedConn] // the newest; set by the handshake

	noTaskStreams atomic.Bool            // a stream for the changes of tasks has failed
	pinged        atomic.Bool            // a ping was answered
	pingless      atomic.Bool            // a ping was refused, and says nothing of the session
	guessed       atomic.Bool            // that the server has forgotten the session: a ping in the next one tells
	denial        atomic.Pointer[string] // the words in which the server refused a ping with 400, as it has forgotten the session

	retired context.Context // ends with Retire
	retire  context.CancelFunc
}

func newConn(d *Dialed, in *inbox, epoch uint32) *Conn {
	c := &Conn{Dialed: d, inbox: in, epoch: epoch}
	in.peer.Store(d.Peer)
	c.retired, c.retire = context.WithCancel(context.Background())
	return c
}

// Forgotten reports whether the server has forgotten the session although the connection is open.
// Another handshake makes the connection good for calls again.
func (c *Conn) Forgotten() bool { return c.sessionForgotten() && !c.ended() }

// sessionForgotten reports whether the server has forgotten the session of the handshake.
func (c *Conn) sessionForgotten() bool { return c.Peer.Forgot(c.epoch) }

// Retire says that c gets no more calls. Subscriptions, which have no end of their own, move to the
// next connection. Retire returns at once.
func (c *Conn) Retire() { c.retire() }

// Heard returns the time of the last inbound message on c. While a call is in flight, it returns
// the present time.
func (c *Conn) Heard() time.Time { return c.Peer.Heard() }

// Ping asks the server for a sign of life over c. An error in the server's answer counts as a sign
// of life, and so does any HTTP status. Afterwards Forgotten says whether the server refused the
// session.
func (c *Conn) Ping(ctx context.Context) error {
	l := c.agreed.Load()
	_, _, err := c.inbox.session.try(ctx, l, &request{method: l.pingMethod(), limit: -1})
	l.heed(err)
	if answered(err) || statusOf(err) != 0 {
		return nil
	}
	return err
}

// pingMethod returns ping in the legacy era. The modern era has no ping; there it returns
// server/discover, which every server answers.
func (l *agreedConn) pingMethod() string {
	if l.dialect.era == mcp.Modern {
		return mcp.MethodDiscover
	}
	return mcp.MethodPing
}

// Drain refuses new calls, and waits until those in flight have ended or ctx ends.
func (c *Conn) Drain(ctx context.Context) { c.Peer.Drain(ctx) }

// Close ends the connection and returns when nothing of it is left. If leave is true, the server's
// session, if it keeps one, stays for the next connection.
func (c *Conn) Close(leave bool) error {
	c.retire()
	if !leave || !c.sessionOutlives() {
		return c.close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return c.Leave(ctx)
}

// sessionOutlives reports whether the server keeps the session after the connection ends. Only a
// legacy session over HTTP with an id can go on in this way.
func (c *Conn) sessionOutlives() bool {
	return c.http() && mcp.EraOf(c.Peer.Version()) == mcp.Legacy && !c.sessionForgotten()
}

// agreedConn is a connection with the outcome of its handshake. It is immutable: another protocol
// revision on the same connection makes another agreedConn.
type agreedConn struct {
	*Conn
	dialect dialect
	info    status.Info
	tasks   bool          // a legacy server runs tools as tasks when asked; a modern one decides that itself
	timeout time.Duration // of a request; 0 is the peer's, below 0 is none

	maxTimeout time.Duration                       // of a request that reports progress; below 0 is none
	aside      func(since time.Time) time.Duration // see [ConnectOptions]
}

// alive reports whether requests may still go out on l, which may be nil.
func (l *agreedConn) alive() bool {
	return l != nil && l.retired.Err() == nil && !l.ended() && !l.sessionForgotten()
}

// ended reports whether the connection is over; only then does its Err say why.
func (d *Dialed) ended() bool {
	select {
	case <-d.Done():
		return true
	default:
		return false
	}
}

func (d *Dialed) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return d.Shutdown(ctx)
}

// Ping asks the server for a sign of life. The modern era has no ping, so Ping sends
// server/discover there, which every server answers and which changes nothing
// (2026-07-28/server/discover). It is sent after the cancellations of earlier calls, so a server
// that has read it has read those too. The answer that there is no such method is a sign of life
// too.
func (s *Session) Ping(ctx context.Context) error {
	l, err := s.acquire(ctx)
	if err == nil {
		soon, cancel := context.WithTimeout(ctx, l.replyTimeout())
		l.Peer.Flush(soon) // if it fails, the request below fails too and reports why
		cancel()
		_, _, err = s.do(ctx, &request{method: l.pingMethod()})
	}
	if err != nil && codeOf(err) != mcp.CodeMethodNotFound {
		return fmt.Errorf("ping %s: %w", s.cfg.Name, err)
	}
	return nil
}
