package session

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

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

// Leaver is a Transport whose session at the server can go on without it.
type Leaver interface {
	// Leave is Shutdown without a word to the server: what the connection was about is
	// left to [Way.Resume].
	Leave(ctx context.Context) error
}

// Link is a connection as whoever keeps it knows it: from a handshake until the
// connection ends, or until the server forgets what the handshake made.
type Link struct {
	session *Session
	conn    *Conn
	inbox   *inbox
	epoch   uint32          // counts the handshakes on the connection, from 1
	wanted  context.Context // that of Connect

	mu      sync.Mutex
	left    bool // by Close, to the next handshake on the connection
	retired bool // no calls any more, and no handshake either
	handed  bool // by HandOver
	resumed bool // nobody goes on with its session, or somebody has tried to
	spent   atomic.Bool
	drained context.Context // ended by Drain
	drain   context.CancelFunc
}

func (s *Session) newLink(c *Conn, in *inbox, epoch uint32) *Link {
	k := &Link{session: s, conn: c, inbox: in, epoch: epoch}
	k.drained, k.drain = context.WithCancel(context.Background())
	return k
}

// Done is closed when the connection has ended, whoever ended it.
func (k *Link) Done() <-chan struct{} { return k.conn.Transport.Done() }

// Err says why the connection ended; it is nil until then.
func (k *Link) Err() error { return k.conn.Transport.Err() }

// Close ends the connection and returns when nothing of it is left. Of a session
// that the server forgot, the connection is left for the next Connect, which
// makes another handshake on it. After Drain, calls in flight have some time yet,
// unless the session ends.
func (k *Link) Close() error {
	k.mu.Lock()
	k.left = k.forgotten() && !k.retired && !k.handed
	left := k.left
	k.mu.Unlock()
	k.spent.Store(true)
	if left {
		return nil
	}
	if k.drained.Err() != nil {
		ctx, cancel := context.WithTimeout(k.session.ctx, drainTime)
		defer cancel()
		k.conn.Peer.Drain(ctx) // or not: they have had their time
	}
	if k.leaves() {
		return k.conn.leave()
	}
	return k.conn.close()
}

// drainTime is how long calls may go on over a connection that makes room for
// another: callers of the other wait for that.
const drainTime = 10 * time.Second

// Drain prepares k for a Close that lets calls in flight end by themselves. Streams
// of changes, which have no end, move on to the next connection. k may be nil.
func (k *Link) Drain() {
	if k != nil {
		k.drain()
	}
}

// Retire has no more calls go out on k. Those in flight go on until Close, which
// then leaves nothing behind; what it had left before is closed now. k may be nil.
func (k *Link) Retire() error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	left := k.left && !k.retired
	k.retired = true
	k.mu.Unlock()
	k.spent.Store(true)
	if left {
		return k.conn.close()
	}
	return nil
}

// takeOver says that the connection, which Close has left, is another link's now, and
// none that Retire closes.
func (k *Link) takeOver() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left = false
}

// lapsed reports whether the server has forgotten what the handshake made.
func (k *Link) lapsed() bool { return k.conn.Peer.Forgot(k.epoch) }

// forgotten reports whether nothing else is wrong with the connection than that.
func (k *Link) forgotten() bool { return k.lapsed() && !k.conn.ended() }

// link is a connection that is open in the sense of the protocol: a handshake,
// where the era has one, is behind it. It does not change; another revision of
// the protocol on the same connection makes another link.
type link struct {
	*Link
	dialect dialect
	info    Info
	tasks   bool // legacy: tools may be run as tasks
}

// alive reports whether calls may be given to l, which may be nil.
func (l *link) alive() bool {
	return l != nil && !l.spent.Load() && l.wanted.Err() == nil && !l.conn.ended() && !l.lapsed()
}

// renewable reports whether another handshake would make the connection of l,
// which may be nil, good for calls again.
func (l *link) renewable() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.forgotten() && !l.retired
}

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

// leave is close for a connection that another one goes on with.
func (c *Conn) leave() error {
	t, ok := c.Transport.(Leaver)
	if !ok {
		return c.close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return t.Leave(ctx)
}
