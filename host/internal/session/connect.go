package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// attempt is one try at a connection, shared by all calls that need one. It
// runs on a goroutine of its own, so that a caller can leave it to the others;
// when the last one leaves, it is given up.
type attempt struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when link or err is set; with err, nothing is left
	link   *link
	err    error

	// Guarded by the session's mutex.
	waiters int
	dropped bool // the last one left: nobody may join any more
}

// reach returns the live connection, or makes one. The error of a caller that
// left early is the cause of its context.
func (s *Session) reach(ctx context.Context) (*link, error) {
	for {
		if l := s.live.Load(); l.alive() && !s.isClosed() {
			return l, nil
		}
		a, joined, err := s.join()
		if err != nil {
			return nil, err
		}
		select {
		case <-a.done:
			if joined {
				return a.link, a.err
			}
		case <-ctx.Done():
			if joined {
				s.leave(a)
			}
			return nil, context.Cause(ctx)
		}
	}
}

// join returns the attempt under way, or begins one. joined is false for an
// attempt that was given up: it must be gone before another begins, because a
// server's processes must never be two.
func (s *Session) join() (a *attempt, joined bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false, ErrClosed
	}
	if s.attempt == nil {
		ctx, cancel := context.WithCancel(s.ctx)
		s.attempt = &attempt{cancel: cancel, done: make(chan struct{})}
		go s.run(ctx, s.attempt)
	}
	a = s.attempt
	if a.dropped {
		return a, false, nil
	}
	a.waiters++
	return a, true, nil
}

func (s *Session) leave(a *attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.waiters--; a.waiters == 0 {
		a.dropped = true
		a.cancel()
	}
}

// run is the life of an attempt. What there is to warn about is said last: a
// callback may close the session, which waits for the attempt.
func (s *Session) run(ctx context.Context, a *attempt) {
	defer a.cancel()
	var warnings []string
	a.link, a.err = s.connect(ctx, func(text string) { warnings = append(warnings, text) })
	if a.err != nil && s.isClosed() {
		a.err = ErrClosed
	}
	s.settle(a)
	for _, text := range warnings {
		s.cfg.Warn(text)
	}
}

func (s *Session) settle(a *attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.link != nil {
		s.live.Store(a.link)
		close(s.settled)
		s.settled = make(chan struct{})
	}
	s.attempt = nil
	close(a.done)
}

// connect makes a connection, finds out the era unless it is known, and opens
// the session. A server that leaves when it is asked for its era is asked no
// second time: it gets a fresh connection and the handshake at once.
func (s *Session) connect(ctx context.Context, warn func(string)) (*link, error) {
	era := s.expected()
	l, err := s.open(ctx, era, warn)
	if left := (*leftError)(nil); errors.As(err, &left) && era == "" {
		l, err = s.open(ctx, mcp.Legacy, warn)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verdict = ""
	if err == nil {
		s.verdict = l.info.Era
	}
	return l, err
}

// expected returns the era that is configured or was found before, or "".
func (s *Session) expected() mcp.Era {
	switch s.cfg.Protocol {
	case Auto:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.verdict
	case LegacyOnly:
		return mcp.Legacy
	}
	return mcp.EraOf(s.cfg.Protocol)
}

// open opens the session on the connection there is, if nothing is wrong with it
// but that the server forgot the session, and else on a new one.
func (s *Session) open(ctx context.Context, era mcp.Era, warn func(string)) (*link, error) {
	old := s.live.Load()
	if old.renewable() {
		return s.renew(ctx, old, era, warn)
	}
	if old != nil {
		old.conn.close()
	}
	return s.dial(ctx, era, warn)
}

// renew makes a second handshake on the connection of old. The server has sent
// its client away with 404 and wants it to begin anew, without the id of the old
// session (2025-11-25/basic/transports#session-management). On an error the
// connection stays, and the next call tries again.
func (s *Session) renew(ctx context.Context, old *link, era mcp.Era, warn func(string)) (*link, error) {
	ctx, cancel := s.startContext(ctx)
	defer cancel()
	h := handshake{cfg: &s.cfg, greeting: &s.greeting, conn: old.conn, epoch: old.epoch + 1, warn: warn}
	l, err := h.open(ctx, era)
	if err != nil {
		return nil, cause(ctx, err)
	}
	l.inbox, l.tasks = old.inbox, l.runsTasks()
	s.restore(ctx, l, warn)
	return l, nil
}

// dial makes one connection and opens the session on it, within the time that
// a server may take to start. On an error the connection is closed again.
func (s *Session) dial(ctx context.Context, era mcp.Era, warn func(string)) (*link, error) {
	ctx, cancel := s.startContext(ctx)
	defer cancel()
	in := &inbox{session: s}
	conn, err := s.cfg.Dial(ctx, in)
	if err != nil {
		return nil, cause(ctx, err)
	}
	h := handshake{cfg: &s.cfg, greeting: &s.greeting, conn: conn, epoch: 1, warn: warn}
	l, err := h.open(ctx, era)
	if err != nil {
		conn.close()
		return nil, cause(ctx, err)
	}
	l.inbox, l.tasks = in, l.runsTasks()
	s.restore(ctx, l, warn)
	return l, nil
}

func (s *Session) startContext(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := s.cfg.StartTimeout
	if limit < 0 {
		return context.WithCancel(ctx)
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
