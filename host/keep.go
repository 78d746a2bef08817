package host

import (
	"context"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/manager"
	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Policy is when a server is tried again that could not be reached, or whose
// connection was lost. Its zero value is the default: after 0.5, 1, 2 and 4 s, then
// after a minute and more and more slowly up to 5 min. A server that fails 5 times
// in a minute is left alone for a while, in which calls fail at once. All that is
// forgiven once a connection has lasted a minute.
//
// Its fields:
//
//	Ladder  []time.Duration // the first waits: 500 ms, 1 s, 2 s, 4 s
//	Slow    time.Duration // the wait after the ladder, which doubles: 60 s
//	SlowMax time.Duration // up to this: 5 min
//	// Calm is how long a connection has to last before the failures before it
//	// are forgiven: 60 s. To have started well is no sign of health.
//	Calm time.Duration
//	// Failures in a Window trip the breaker: 5 in 60 s. Below zero nothing does.
//	// Together with the ladder they are also how often a server is started in
//	// any window, since every dial ends in a failure or lasts.
//	Failures int
//	Window   time.Duration
type Policy = manager.Policy

// line is a connection of a session as its driver has it.
type line struct {
	*session.Link
	session *Session
}

// Err says why the connection ended, in the words of this package.
func (l line) Err() error { return explain(l.session.Name(), l.Link.Err()) }

// errForgotten is why a connection is of no use that has not ended.
var errForgotten = errors.New("the server has forgotten the session")

// acquire waits for a connection.
func (s *Session) acquire(ctx context.Context, forgotten *session.Link) error {
	if forgotten != nil {
		s.driver.Forgotten(line{forgotten, s}, errForgotten)
	}
	_, err := s.driver.Acquire(ctx)
	return err
}

// dial makes a connection, for the driver.
func (s *Session) dial(ctx context.Context) (manager.Conn, error) {
	written := s.entry.Load()
	entry, err := s.host.admit(*written)
	if err != nil {
		return nil, err
	}
	l, err := s.host.reach(ctx, s, entry)
	if err != nil {
		return nil, err
	}
	if now := s.entry.Load(); now != written && !now.Disabled {
		l.Drain() // for a Reload that has seen only the link before
	}
	i := s.inner.Info()
	s.driver.Report(func(f *manager.Facts) { f.Era, f.Revision, f.Transport = string(i.Era), i.Protocol, i.Transport })
	return line{l, s}, nil
}

// classify says whether trying again may mend what a dial failed for.
func classify(err error) manager.Reason {
	switch {
	case errors.Is(err, ErrConfig), errors.Is(err, ErrUnknownTransport):
		return manager.BadConfig
	case errors.Is(err, ErrDenied):
		return manager.Denied
	case errors.Is(err, ErrPluginRefused):
		return manager.PluginRefused
	case errors.Is(err, ErrAuthRequired):
		return manager.SignIn
	}
	return manager.Unreachable
}

// Start has the server connected and kept so. It waits for nothing.
func (s *Session) Start() { s.driver.Start() }

// Ready waits until the server is ready for calls, and has it connected if need
// be. If there will be no connection soon, the error says why, at once. ctx bounds
// the wait only: the server goes on connecting.
func (s *Session) Ready(ctx context.Context) error {
	ctx, over, err := s.host.begin(ctx)
	if err != nil {
		return fmt.Errorf("connect %s: %w", s.Name(), err)
	}
	defer over()
	return s.signingIn(ctx, mcp.MethodInitialize, func() error {
		err := s.acquire(ctx, nil)
		if err != nil {
			err = explain(s.Name(), fmt.Errorf("connect %s: %w", s.Name(), s.notUp(err)))
		}
		return err
	})
}

// Reload gives the session another entry, of the same name. What there is of a
// connection goes away: calls in flight have ten seconds yet, new ones wait for the
// next connection. What failed before is forgiven. The server is connected anew if
// it was wanted before. It is disabled or enabled as the entry says; being disabled
// ends calls at once.
func (s *Session) Reload(entry Server) error {
	if entry.Name != s.Name() {
		return hosterr.Configf("reload %s: the entry is that of %s", s.Name(), entry.Name)
	}
	s.entry.Store(&entry)
	s.refused.Store(nil)
	l := s.inner.Link()
	l.Forsake()
	if entry.Disabled {
		s.driver.Disable()
	} else {
		s.inner.Link().Drain() // which may be newer than l: the driver goes on until it is told
	}
	s.inner.Forget()
	s.harmless.Store(nil)
	s.driver.Reload(nil)
	if !entry.Disabled {
		s.driver.Enable()
	}
	return l.Retire()
}

// replace is Reload for an entry that says what the one before did, and another plugin
// in place of the one that carries the session. What that has begun at the server the
// other goes on with, if it can.
func (s *Session) replace(entry Server) error {
	l := s.inner.Link()
	if !l.HandOver() {
		return s.Reload(entry)
	}
	s.entry.Store(&entry)
	s.refused.Store(nil)
	s.inner.Link().Drain() // see Reload
	s.inner.Forget()
	s.harmless.Store(nil)
	s.driver.Reload(nil)
	return nil
}

// Disable drops the connection and makes no other: calls fail with [ErrDisabled],
// until Enable.
func (s *Session) Disable() {
	l := s.inner.Link()
	l.Forsake()
	s.driver.Disable()
	l.Retire()
}

// Enable undoes Disable. The server is connected if it was wanted before.
func (s *Session) Enable() { s.driver.Enable() }
