package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/internal/connect"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/manager"
	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// connections gives a session the connections that its driver makes, as [session.Connections].
type connections struct{ *Session }

func (c connections) Acquire(ctx context.Context) (*session.Conn, error) {
	return asConn(c.driver.Acquire(ctx))
}

func (c connections) Await(ctx context.Context) (*session.Conn, error) {
	return asConn(c.driver.Await(ctx))
}

func asConn(c manager.Conn, err error) (*session.Conn, error) {
	if err != nil {
		return nil, err
	}
	return c.(*session.Conn), nil
}

func (c connections) Current() *session.Conn {
	conn, _ := c.driver.Current().(*session.Conn)
	return conn
}

func (c connections) Close() error { return c.host.manager.Remove(c.driver) }

// dial makes a connection, for the driver.
func (s *Session) dial(ctx context.Context, after manager.Conn) (manager.Conn, error) {
	configured := s.entry.Load()
	defer s.host.dialer.Accounts.Answers.Hold(configured.Inputs...)()
	entry, err := s.host.admit(ctx, *configured)
	if err != nil {
		return nil, err
	}
	before, _ := after.(*session.Conn)
	var reread connect.Reread
	if len(configured.Secrets()) > 0 {
		reread = func(ctx context.Context) (Server, error) { return s.host.admit(ctx, *configured) }
	}
	c, err := s.host.dialer.Connect(ctx, s.inner, entry, reread, before, &s.starting)
	if err != nil {
		return nil, explain(entry.Name, err)
	}
	s.keepAnswers(ctx, configured)
	i := s.inner.Info()
	s.driver.Report(func(st *status.Status) { st.Era, st.Protocol, st.Transport = string(i.Era), i.Protocol, i.Transport })
	s.saveInfo()
	s.renew(configured, c)
	s.usage.connected()
	s.host.counts.connected.Add(1)
	if s.connected.Swap(true) {
		s.host.counts.reconnected.Add(1)
	}
	return c, nil
}

// pulse returns how long a connection of the session may be silent before it is asked for a sign of
// life, and how long the answer may take.
func (s *Session) pulse() manager.Pulse {
	c, entry := &s.host.config, s.entry.Load()
	return manager.Pulse{Every: max(0, cmp.Or(entry.Ping, c.Ping)), Timeout: cmp.Or(entry.PingTimeout, c.PingTimeout)}
}

// classify returns the reason of a failed dial. The reason decides whether the driver dials again.
func classify(err error) status.Reason {
	switch {
	case errors.Is(err, ErrConfig), errors.Is(err, ErrUnknownTransport):
		return status.BadConfig
	case errors.Is(err, ErrDenied):
		return status.Denied
	case errors.Is(err, ErrPluginRefused):
		return status.PluginRefused
	case errors.Is(err, ErrAuthRequired):
		return status.SignIn
	}
	return status.Unreachable
}

// Start connects the server and keeps it connected. It waits for nothing.
func (s *Session) Start() { s.driver.Start() }

// Ready connects the server if need be, and waits until it is ready for calls. If there
// will be no connection soon, it returns at once with the reason. ctx bounds the wait
// only: the server goes on connecting.
func (s *Session) Ready(ctx context.Context) error {
	ctx, over, err := s.host.begin(ctx)
	if err != nil {
		return fmt.Errorf("connect %s: %w", s.Name(), err)
	}
	defer over()
	return s.signingIn(ctx, mcp.MethodInitialize, func() error {
		_, err := s.driver.Acquire(ctx)
		if err != nil {
			err = &unconnectedError{explain(s.Name(), fmt.Errorf("connect %s: %w", s.Name(), s.starting.Explain(err)))}
		}
		return err
	})
}

// unconnectedError is the error of a server that was not connected. It is an [ErrNotSent], though a request of the
// handshake may have reached the server: none of a caller's was made.
type unconnectedError struct{ error }

func (e *unconnectedError) Unwrap() error        { return e.error }
func (e *unconnectedError) Is(target error) bool { return target == ErrNotSent }

// Reload gives the session another entry of the same name and replaces its connection. Calls in
// flight have ten seconds to end, and new ones wait for the next connection. Earlier failures
// are forgiven. The server is connected anew if it was wanted before. The entry also says
// whether it is disabled: disabling it ends calls at once.
func (s *Session) Reload(entry Server) error {
	if entry.Name != s.Name() {
		return hosterr.Configf("reload %s: the entry is that of %s", s.Name(), entry.Name)
	}
	s.replaceEntry(entry, manager.Change{Disabled: entry.Disabled})
	return nil
}

// replaceEntry gives the session another entry and replaces its connection. The driver is told
// first, which cancels a dial that is under way. Only then does the session forget what it knew
// of the server, so that this dial cannot store it again.
func (s *Session) replaceEntry(entry Server, c manager.Change) {
	s.savedLists.Lock()
	other := catalogue.KeyOf(*s.entry.Swap(&entry)) != catalogue.KeyOf(entry)
	s.refused.Store(nil)
	s.driver.Change(c)
	s.inner.Forget(other)
	s.savedLists.Unlock()
	if other {
		s.driver.Report(func(st *status.Status) { st.Tools, st.Stale = 0, false })
	}
	s.showSaved()
}

// Disable drops the connection and makes no other until Enable: calls fail with [ErrDisabled].
func (s *Session) Disable() { s.driver.Disable() }

// Enable undoes Disable. The server is connected if it was wanted before.
func (s *Session) Enable() { s.driver.Enable() }
