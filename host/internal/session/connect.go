package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// ErrEcho says that the other side is no server: it sends back whatever it is sent.
var ErrEcho = errors.New("it is no MCP server: it sends back what it is sent")

// ConnectOptions says how one connection is made. The next one may have other options.
type ConnectOptions struct {
	// Dial makes a connection whose inbound requests and notifications go to h.
	// It is never called again before the connection it made last is closed.
	// When ctx ends, it gives up and leaves nothing behind.
	Dial func(ctx context.Context, h rpc.Handler) (*Dialed, error)

	// Resume is Dial for a connection whose transport goes on where the transport of after
	// stopped, so that the server notices nothing. It returns nil and no error if after left
	// nothing to go on with, or was dialled with other options. Resume may be nil.
	Resume func(ctx context.Context, h rpc.Handler, after *Dialed) (*Dialed, error)

	Transport    string        // tells one way of dialling from another, and is shown in [status.Info]
	Protocol     string        // Auto, LegacyOnly or a revision; "" is Auto
	Timeout      time.Duration // of a request; 0 is the peer's, below 0 is none
	StartTimeout time.Duration // from dialling until a server is ready; 0 is 60 s, below 0 is none
	MaxTimeout   time.Duration // of a request that tells its progress; 0 is that of the session, below 0 is none
}

// Check returns an error for options with which no server can be reached.
func (w *ConnectOptions) Check() error {
	switch {
	case w.Protocol == "", w.Protocol == Auto, w.Protocol == LegacyOnly, mcp.EraOf(w.Protocol) != "":
		return nil
	}
	return fmt.Errorf("unknown protocol %q: want %s, %s or one of %s", w.Protocol, Auto, LegacyOnly, spoken)
}

// Connections give a session its connection. They own it: they make it, with
// [Session.Connect], and close it, and there is never more than one. All methods
// are safe for concurrent use.
type Connections interface {
	// Acquire returns the connection, and waits for it where one is being made. It never
	// returns one that has ended, or whose session the server has forgotten. The error of a
	// caller that left early is the cause of its context.
	Acquire(ctx context.Context) (*Conn, error)

	// Current returns the connection, or nil. It waits for nothing.
	Current() *Conn

	// Close closes the connection and makes no other. It returns when nothing is left of it.
	Close() error
}

// acquire returns a connection that calls may go out on.
func (s *Session) acquire(ctx context.Context) (*agreedConn, error) {
	if s.isClosed() {
		return nil, ErrClosed
	}
	c, err := s.cfg.Connections.Acquire(ctx)
	switch {
	case err == nil:
		return c.agreed.Load(), nil
	case s.isClosed():
		return nil, ErrClosed
	}
	return nil, err
}

// current is the connection that there is, nil for none.
func (s *Session) current() *agreedConn {
	if c := s.cfg.Connections.Current(); c != nil {
		return c.agreed.Load()
	}
	return nil
}

// Connect makes a connection and opens the session on it. It is for the [Connections]
// of the session, which call it one at a time.
//
// after is the previous connection, if the new one may go on with its session, or nil. If
// it has ended, its session is resumed where that is possible. If it is open, the server
// has forgotten its session: another handshake is made on it, and the new connection takes
// its place; an error leaves it as it is.
//
// When ctx ends, Connect gives up.
func (s *Session) Connect(ctx context.Context, w *ConnectOptions, after *Conn) (*Conn, error) {
	if s.isClosed() {
		return nil, ErrClosed
	}
	if err := w.Check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	s.mu.Lock()
	era := s.detectedEra // of an earlier connection
	s.mu.Unlock()
	switch w.Protocol {
	case "", Auto:
	case LegacyOnly:
		era = mcp.Legacy
	default:
		era = mcp.EraOf(w.Protocol)
	}
	l, err := s.open(ctx, w, after, era)
	if left := (*peerGoneError)(nil); errors.As(err, &left) && era == "" {
		// It left when it was asked for its era, and is not asked again: it gets a fresh
		// connection and the legacy handshake at once.
		if after != nil {
			after.close()
		}
		l, err = s.open(ctx, w, nil, mcp.Legacy)
	}
	s.mu.Lock()
	if ctx.Err() == nil { // else Forget may have come since: the era is that of the old server
		s.detectedEra = ""
		if err == nil {
			s.detectedEra = l.info.Era
		}
	}
	s.mu.Unlock()
	switch {
	case err == nil:
		s.info.Store(&l.info)
		return l.Conn, nil
	case s.isClosed():
		return nil, ErrClosed
	}
	return nil, err
}

// Forget drops what the session knows of the server, which may have been replaced. If other
// is true, it certainly was, and Forget drops the lists too; else the lists stay known, as
// stale. Forget is not for a mere reconnection, over which a fresh list stays fresh. A
// Connect whose context ended before Forget stores no era.
func (s *Session) Forget(other bool) {
	s.toolCache.replace(other)
	s.prompts.replace(other)
	s.resources.replace(other)
	s.templates.replace(other)
	s.reads.change()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detectedEra = ""
}

// open opens the session. If the server has forgotten the session of after, open makes
// another handshake on that connection. Else it makes a new connection, which goes on with
// what after left if it can. On an error a new connection is closed again, and after stays
// for the next attempt.
func (s *Session) open(ctx context.Context, w *ConnectOptions, after *Conn, era mcp.Era) (*agreedConn, error) {
	if after != nil {
		if after.Forgotten() && after.agreed.Load().info.Transport == w.Transport {
			// The server has sent its client away with 404 and wants it to begin anew,
			// without the id of the old session
			// (2025-11-25/basic/transports#session-management).
			ctx, cancel := w.start(ctx)
			defer cancel()
			return s.openOn(ctx, w, newConn(after.Dialed, after.inbox, after.epoch+1), era)
		}
		after.close() // another transport has no use for it
	}
	in := s.newInbox()
	if l := s.resume(ctx, w, in, after, era); l != nil {
		return l, nil
	}
	ctx, cancel := w.start(ctx)
	defer cancel()
	d, err := w.Dial(ctx, in)
	if err != nil {
		return nil, cause(ctx, err)
	}
	l, err := s.openOn(ctx, w, newConn(d, in, 1), era)
	if err != nil {
		d.close()
		return nil, err
	}
	return l, nil
}

// openOn makes the handshake on c.
func (s *Session) openOn(ctx context.Context, w *ConnectOptions, c *Conn, era mcp.Era) (*agreedConn, error) {
	h := handshake{session: s, options: w, conn: c.Dialed, epoch: c.epoch}
	l, err := h.open(ctx, era)
	if err != nil && c.inbox.echoed.Load() {
		return nil, ErrEcho
	}
	if err != nil {
		return nil, cause(ctx, err)
	}
	l.Conn, l.info.Transport, l.timeout = c, w.Transport, w.Timeout
	l.maxTimeout = cmp.Or(w.MaxTimeout, s.cfg.MaxTimeout)
	l.tasks = l.dialect.era == mcp.Legacy && l.declares("tasks", "requests", "tools", "call")
	c.agreed.Store(l)
	s.restore(ctx, l)
	return l, nil
}

// start bounds ctx by the time that a server may take.
func (w *ConnectOptions) start(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := w.StartTimeout
	if limit < 0 {
		return context.WithCancel(ctx)
	}
	if limit == 0 {
		limit = defaultStartTimeout
	}
	late := fmt.Errorf("the server was not ready %v after it was started: %w", limit, rpc.ErrTimeout)
	return context.WithTimeoutCause(ctx, limit, late)
}

// cause returns why ctx ended, in place of an error that only says that it ended.
func cause(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) { // false while ctx.Err() is nil
		return context.Cause(ctx)
	}
	return err
}
