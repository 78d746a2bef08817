package session

import (
	"context"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
)

// Conn is one live connection under a session: correlation, and the transport
// that carries it. The session that dialled it owns it and closes it.
type Conn struct {
	Peer         *rpc.Peer
	Transport    Transport
	StreamCancel bool      // the transport itself shows the server that a caller left
	Probe        abi.Probe // how the era of the server is found out
}

// http reports whether every message is an HTTP request of its own. Then each
// has an answer or a status that says why not, and headers beside it.
func (c *Conn) http() bool { return c.Probe == abi.ProbeHTTP }

// Transport is what a session must know about the thing that carries messages.
type Transport interface {
	// Done is closed when the connection has ended, whoever ended it. The peer
	// is closed at about the same time, so that no call waits any longer.
	Done() <-chan struct{}

	// Err says why it ended, in the words a user needs: an exit code, the last
	// lines of stderr. It is nil until Done is closed.
	Err() error

	// Shutdown ends the connection and returns when nothing of it is left, or
	// when ctx ends. It may be called more than once, and after the connection
	// ended: that releases what the transport still holds. It does not wait for
	// handlers of the peer.
	Shutdown(ctx context.Context) error
}

// link is a connection that is open in the sense of the protocol: a handshake,
// where the era has one, is behind it. It does not change: a second handshake on
// the same connection makes another link.
type link struct {
	conn    *Conn
	inbox   *inbox
	epoch   uint32 // counts the handshakes on the connection, from 1
	dialect dialect
	info    Info
	tasks   bool // legacy: tools may be run as tasks
}

// alive reports whether calls may be given to l, which may be nil.
func (l *link) alive() bool { return l != nil && !l.conn.ended() && !l.lapsed() }

// lapsed reports whether the server has forgotten what the handshake made.
func (l *link) lapsed() bool { return l.conn.Peer.Forgot(l.epoch) }

// renewable reports whether another handshake would make l, which may be nil,
// good for calls again.
func (l *link) renewable() bool { return l != nil && l.lapsed() && !l.conn.ended() }

// ended reports whether the connection is over; only then does its Err say why.
func (c *Conn) ended() bool {
	select {
	case <-c.Transport.Done():
		return true
	default:
		return false
	}
}

func (c *Conn) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return c.Transport.Shutdown(ctx)
}
