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

// ErrNotReady says that the server was not ready within the StartTimeout.
var ErrNotReady = errors.New("the server was not ready in time")

// ConnectOptions says how one connection is made. The next connection may have others.
type ConnectOptions struct {
	// Dial makes a connection that passes inbound requests and notifications to h. The connection
	// that Dial made last is closed before Dial is called again. When ctx ends, Dial gives up and
	// leaves nothing behind.
	Dial func(ctx context.Context, h rpc.Handler) (*Dialed, error)

	// Resume makes a connection whose transport goes on where the transport of after stopped, so
	// that the server notices nothing. It returns nil and no error if after left nothing to go on
	// with, or was dialled with other options. Resume may be nil.
	Resume func(ctx context.Context, h rpc.Handler, after *Dialed) (*Dialed, error)

	Transport    string        // names the way of dialling, to compare it with others and to show in [status.Info]
	Protocol     string        // Auto, LegacyOnly or a revision; "" is Auto
	Timeout      time.Duration // of a request; 0 is the peer's, below 0 is none
	StartTimeout time.Duration // from dialling until a server is ready; 0 is 60 s, below 0 is none
	MaxTimeout   time.Duration // of a request that reports progress; 0 is the session's, below 0 is none

	Spent time.Duration // of StartTimeout, before Connect was called

	// Aside returns for how long the caller has been busy since a time. That counts neither against
	// StartTimeout nor against Timeout. Aside may be nil.
	Aside func(since time.Time) time.Duration
}

// Check returns an error if no server can be reached with these options.
func (w *ConnectOptions) Check() error {
	switch {
	case w.Protocol == "", w.Protocol == Auto, w.Protocol == LegacyOnly, mcp.EraOf(w.Protocol) != "":
		return nil
	}
	return fmt.Errorf("unknown protocol %q: want %s, %s or one of %s", w.Protocol, Auto, LegacyOnly, spoken)
}

// Connections give a session its connection. They own it: they make it with [Session.Connect],
// close it, and never have two at a time. All methods are safe for concurrent use.
type Connections interface {
	// Acquire returns the connection. If one is being made, Acquire waits for it. It never returns
	// one that has ended or whose session the server has forgotten. When ctx ends early, the error
	// is its cause.
	Acquire(ctx context.Context) (*Conn, error)

	// Await is like Acquire, but it does not start a server that was stopped because it was not
	// used: it waits until a call starts the server.
	Await(ctx context.Context) (*Conn, error)

	// Current returns the connection, or nil. It waits for nothing.
	Current() *Conn

	// Close closes the connection and makes no more. It returns when nothing of it is left.
	Close() error
}

// acquire returns a connection that calls may go out on.
func (s *Session) acquire(ctx context.Context) (*agreedConn, error) {
	return s.connection(ctx, s.cfg.Connections.Acquire)
}

func (s *Session) connection(ctx context.Context, from func(context.Context) (*Conn, error)) (*agreedConn, error) {
	if s.isClosed() {
		return nil, ErrClosed
	}
	c, err := from(ctx)
	switch {
	case err == nil:
		return c.agreed.Load(), nil
	case s.isClosed():
		return nil, ErrClosed
	}
	return nil, err
}

// current returns the present connection, or nil.
func (s *Session) current() *agreedConn {
	if c := s.cfg.Connections.Current(); c != nil {
		return c.agreed.Load()
	}
	return nil
}

// Connect makes a connection and opens the session on it. Only the [Connections] of the session
// call it, one call at a time.
//
// after is the previous connection if the new one may go on with its session, otherwise nil. If
// after has ended, Connect resumes its session if possible. If after is open, the server has
// forgotten the session: Connect makes another handshake on after, and the new Conn replaces it. An
// error leaves after as it is.
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
		// The server ended the connection when it was asked for its era. It is not asked
		// again: on a new connection, the legacy handshake comes first.
		if after != nil {
			after.close()
		}
		l, err = s.open(ctx, w, nil, mcp.Legacy)
	}
	s.mu.Lock()
	if ctx.Err() == nil { // else the server may have been replaced, see Forget: this is about the old one
		s.detectedEra = ""
		if err == nil {
			s.detectedEra = l.info.Era
			s.info.Store(&l.info)
		}
	}
	s.mu.Unlock()
	switch {
	case err == nil:
		return l.Conn, nil
	case s.isClosed():
		return nil, ErrClosed
	}
	return nil, err
}

// Forget drops what the session knows of a server that may have been replaced. If other is true,
// the server certainly was replaced, and Forget drops the lists and the Info too. If other is
// false, the lists and the Info stay known, but the lists count as stale. A mere reconnection does
// not call Forget, because a fresh list stays fresh. A Connect whose context ended before Forget
// stores nothing.
func (s *Session) Forget(other bool) {
	s.toolCache.replace(other)
	s.prompts.replace(other)
	s.resources.replace(other)
	s.templates.replace(other)
	s.reads.change()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detectedEra = ""
	if other {
		s.info.Store(nil)
	}
}

// open opens the session. If the server has forgotten the session of after, open makes another
// handshake on after. Otherwise it makes a new connection, which resumes the session of after if
// possible. On an error it closes a new connection again, and after stays for the next attempt.
func (s *Session) open(ctx context.Context, w *ConnectOptions, after *Conn, era mcp.Era) (*agreedConn, error) {
	if after != nil {
		if after.Forgotten() && after.agreed.Load().info.Transport == w.Transport {
			// The server has answered 404 and wants its client to begin anew, without the id of the
			// old session (2025-11-25/basic/transports#session-management).
			ctx, cancel := w.start(ctx)
			defer cancel()
			l, err := s.openOn(ctx, w, newConn(after.Dialed, after.inbox, after.epoch+1), era)
			if err == nil && after.guessed.Load() {
				l.settleGuess(ctx)
			}
			return l, err
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
	l.maxTimeout, l.aside = cmp.Or(w.MaxTimeout, s.cfg.MaxTimeout), w.Aside
	l.tasks = l.dialect.era == mcp.Legacy && l.declares("tasks", "requests", "tools", "call")
	c.agreed.Store(l)
	s.restoreLevel(ctx, l)
	s.letAskForRoots(ctx, l)
	return l, nil
}

// start bounds ctx by the time in which a server must be ready.
func (w *ConnectOptions) start(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := cmp.Or(w.StartTimeout, defaultStartTimeout)
	if limit < 0 {
		return context.WithCancel(ctx)
	}
	late := &notReadyError{limit}
	if w.Aside == nil {
		return context.WithTimeoutCause(ctx, limit-w.Spent, late)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	began := time.Now()
	go func() {
		const pause = 10 * time.Millisecond // between two looks while the caller is busy
		for left := limit - w.Spent; left > 0; {
			select {
			case <-time.After(left):
			case <-ctx.Done():
				return
			}
			if left = limit - w.Spent - time.Since(began) + w.Aside(began); left > 0 {
				left = max(left, pause)
			}
		}
		cancel(late)
	}()
	return ctx, func() { cancel(nil) }
}

// notReadyError says that a start took longer than limit.
type notReadyError struct{ limit time.Duration }

func (e *notReadyError) Error() string {
	return fmt.Sprintf("the server was not ready within %v", e.limit)
}
func (e *notReadyError) Unwrap() []error { return []error{ErrNotReady, rpc.ErrTimeout} }

// cause returns the cause of ctx if err only says that ctx ended, and err otherwise.
func cause(ctx context.Context, err error) error {
	if errors.Is(err, ctx.Err()) { // false while ctx.Err() is nil
		return context.Cause(ctx)
	}
	return err
}
