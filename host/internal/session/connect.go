package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Way is how a server is reached. Another connection may take another way.
type Way struct {
	// Dial makes a connection whose inbound requests and notifications go to h.
	// It is never called again before the connection it made last is closed.
	// When ctx ends, it gives up and leaves nothing behind.
	Dial func(ctx context.Context, h rpc.Handler) (*Conn, error)

	// Resume is Dial for a connection whose transport goes on where that of an ended
	// one stopped: the server is to notice nothing. Without an error there may be none,
	// where nothing was left or where it is not for this way. Nil is a way on which
	// nothing ever goes on.
	Resume func(ctx context.Context, h rpc.Handler, after *Conn) (*Conn, error)

	Transport    string        // tells ways apart, and is shown in [Info]
	Protocol     string        // Auto, LegacyOnly or a revision; "" is Auto
	Timeout      time.Duration // of a request; 0 is the peer's, below is none
	StartTimeout time.Duration // from dialling until a server is ready; 0 is 60 s, below is none
}

// Check returns an error for a way that no server can be reached on.
func (w *Way) Check() error {
	switch {
	case w.Protocol == "", w.Protocol == Auto, w.Protocol == LegacyOnly, mcp.EraOf(w.Protocol) != "":
		return nil
	}
	return fmt.Errorf("unknown protocol %q: want %s, %s or one of %s", w.Protocol, Auto, LegacyOnly, spoken)
}

// reach returns the live connection, or has one made. The error of a caller that
// left early is the cause of its context.
func (s *Session) reach(ctx context.Context) (*link, error) {
	for {
		l := s.live.Load()
		if s.isClosed() {
			return nil, ErrClosed
		}
		if l.alive() {
			return l, nil
		}
		var forgotten *Link
		if l.renewable() {
			forgotten = l.Link
		}
		if err := s.cfg.Acquire(ctx, forgotten); err != nil {
			if s.isClosed() {
				return nil, ErrClosed
			}
			return nil, err
		}
	}
}

// Connect makes a connection and opens the session on it: on the connection there
// is, where nothing is wrong with that but that the server forgot the session. It
// is called one at a time, and only after the link that it returned before has
// been closed. On an error there is no more than there was. A way that is nil is
// the one of the configuration. ctx lasts for as long as the link is wanted: once it
// has ended, no call is given to that any more, and those in flight go on until Close.
func (s *Session) Connect(ctx context.Context, w *Way) (*Link, error) {
	if w == nil {
		w = &s.cfg.Way
	}
	var warnings []string
	l, err := s.connect(ctx, w, func(text string) { warnings = append(warnings, text) })
	for _, text := range warnings { // last: a callback may close the session, which waits for the rest
		s.cfg.Warn(text)
	}
	switch {
	case err == nil:
		return l.Link, nil
	case s.isClosed():
		return nil, ErrClosed
	}
	return nil, err
}

func (s *Session) connect(ctx context.Context, w *Way, warn func(string)) (*link, error) {
	s.connecting.Lock() // against Close
	defer s.connecting.Unlock()
	wanted := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if s.isClosed() {
		return nil, ErrClosed
	}
	if err := w.Check(); err != nil {
		return nil, err
	}
	g, err := newGreeting(&s.cfg, w.Protocol)
	if err != nil {
		return nil, err
	}
	l, err := s.begin(ctx, &attempt{Way: w, greeting: &g, warn: warn})
	if err != nil {
		return nil, err
	}
	l.wanted = wanted
	s.publish(l, w)
	return l, nil
}

// attempt is one try at a connection.
type attempt struct {
	*Way
	greeting *greeting
	warn     func(string)
}

// begin opens the session, and finds out the era unless it is known. A server
// that leaves when it is asked for its era is asked no second time: it gets a
// fresh connection and the handshake at once.
func (s *Session) begin(ctx context.Context, a *attempt) (*link, error) {
	era := s.expected(a.Protocol)
	l, err := s.open(ctx, a, era)
	if left := (*leftError)(nil); errors.As(err, &left) && era == "" {
		l, err = s.open(ctx, a, mcp.Legacy)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verdict = ""
	if err == nil {
		s.verdict = l.info.Era
	}
	return l, err
}

// publish makes l the link that calls are given to.
func (s *Session) publish(l *link, w *Way) {
	s.timeout.Store(int64(w.Timeout))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live.Store(l)
	close(s.settled)
	s.settled = make(chan struct{})
}

// Forget has the session know nothing of the server any more: it may become
// another. What is fresh by the word of a server stays so over a reconnection.
func (s *Session) Forget() {
	s.forget(&mcp.Filter{Tools: true, Prompts: true, Resources: true})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verdict = ""
}

// expected returns the era that is configured or was found before, or "".
func (s *Session) expected(protocol string) mcp.Era {
	switch protocol {
	case "", Auto:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.verdict
	case LegacyOnly:
		return mcp.Legacy
	}
	return mcp.EraOf(protocol)
}

// open opens the session on the connection there is, or else on a new one, which goes
// on with what the last one left if that can be.
func (s *Session) open(ctx context.Context, a *attempt, era mcp.Era) (*link, error) {
	old := s.live.Load()
	if old.renewable() && old.info.Transport == a.Transport {
		return s.renew(ctx, a, old, era)
	}
	if old != nil {
		old.conn.close()
	}
	in := s.newInbox()
	if l := s.resume(ctx, a, in, old, era); l != nil {
		return l, nil
	}
	return s.dial(ctx, a, in, era)
}

// renew makes a second handshake on the connection of old. The server has sent
// its client away with 404 and wants it to begin anew, without the id of the old
// session (2025-11-25/basic/transports#session-management). On an error the
// connection stays, and the next attempt tries again.
func (s *Session) renew(ctx context.Context, a *attempt, old *link, era mcp.Era) (*link, error) {
	ctx, cancel := a.start(ctx)
	defer cancel()
	l, err := s.shake(ctx, a, s.newLink(old.conn, old.inbox, old.epoch+1), era)
	if err == nil {
		old.takeOver()
	}
	return l, err
}

// dial makes one connection and opens the session on it, within the time that
// a server may take to start. On an error the connection is closed again.
func (s *Session) dial(ctx context.Context, a *attempt, in *inbox, era mcp.Era) (*link, error) {
	ctx, cancel := a.start(ctx)
	defer cancel()
	conn, err := a.Dial(ctx, in)
	if err != nil {
		return nil, cause(ctx, err)
	}
	l, err := s.shake(ctx, a, s.newLink(conn, in, 1), era)
	if err != nil {
		conn.close()
		return nil, err
	}
	return l, nil
}

// shake makes the handshake that k is about.
func (s *Session) shake(ctx context.Context, a *attempt, k *Link, era mcp.Era) (*link, error) {
	h := handshake{cfg: &s.cfg, greeting: a.greeting, conn: k.conn, epoch: k.epoch, warn: a.warn}
	l, err := h.open(ctx, era)
	if err != nil {
		return nil, cause(ctx, err)
	}
	l.Link, l.info.Transport = k, a.Transport
	l.tasks = l.runsTasks()
	s.restore(ctx, l, a)
	return l, nil
}

// start bounds ctx by the time that a server may take.
func (w *Way) start(ctx context.Context) (context.Context, context.CancelFunc) {
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

// cause replaces an error that only says that ctx ended by why it did.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return context.Cause(ctx)
	}
	return err
}
