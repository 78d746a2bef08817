package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/session"
)

// The transports of a url. The second is tried where the first is not spoken.
const (
	transportHTTP = "http"
	transportSSE  = "sse"
)

// Connect connects a session over one of the transports that its entry may have. after
// is as for [session.Session.Connect]; starting has the connection while it is made. What the entry leads to is
// found out anew each time: its plugin, its grants and its sign-in.
func (d *Dialer) Connect(ctx context.Context, s *session.Session, entry config.Server, after *session.Conn, starting *Starting) (*session.Conn, error) {
	var first error
	for _, via := range d.Routes(entry) {
		c, err := d.connect(ctx, s, entry, via, after, starting)
		if err == nil {
			d.remember(entry, via)
			return c, nil
		}
		if first != nil {
			err = fmt.Errorf("%w; and over %s: %w", first, via, err)
		}
		if first = err; !elsewhere(via, err) {
			break
		}
	}
	return nil, first
}

// connect connects a session over one transport.
func (d *Dialer) connect(ctx context.Context, s *session.Session, entry config.Server, via string, after *session.Conn, starting *Starting) (*session.Conn, error) {
	a, err := d.attempt(ctx, entry, via)
	if err != nil {
		return nil, err
	}
	w, err := a.way()
	if err != nil {
		return nil, err
	}
	w.Dial = func(ctx context.Context, handler rpc.Handler) (*session.Dialed, error) {
		made, err := a.dial(ctx, handler)
		if err == nil {
			starting.now.Store(made.Transport.(*connection))
		}
		return made, err
	}
	defer starting.now.Store(nil)
	c, err := s.Connect(ctx, w, after)
	return c, starting.NotUp(err)
}

// Starting is the connection of a session while it is made. Its zero value is none.
type Starting struct{ now atomic.Pointer[connection] }

// NotUp adds to err, where it is that the patience with a server that is being connected
// has ended, that it is the plugin that lets no message pass.
func (s *Starting) NotUp(err error) error {
	c := s.now.Load()
	if c == nil || c.inst.Up() || !errors.Is(err, rpc.ErrTimeout) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w; its plugin has not reported UP, and no message was sent (WHARF_TRACE=abi shows what it waits for)", err)
}

// way returns how a session connects over the transport. HTTP+SSE has only one
// era.
func (a *attempt) way() (*session.Way, error) {
	w := &session.Way{
		Dial: a.dial, Resume: a.resume, Transport: a.via, Protocol: a.server.Protocol,
		Timeout: cmp.Or(a.dialer.timeout(a.server), -1), StartTimeout: a.dialer.startTimeout(a.server),
	}
	if a.via == transportSSE && w.Protocol == "" {
		w.Protocol = session.LegacyOnly
	}
	if err := w.Check(); err != nil {
		return nil, hosterr.Configf("%w", err)
	}
	return w, nil
}

// startTimeout returns what the start of a server may take; below zero is no limit.
func (d *Dialer) startTimeout(s config.Server) time.Duration {
	limit := cmp.Or(s.StartTimeout, d.config.StartTimeout)
	if limit == 0 && d.timeout(s) == 0 {
		return -1
	}
	return limit
}

// Routes returns the transports to try for an entry, in order.
func (d *Dialer) Routes(s config.Server) []string {
	via := s.Via()
	if s.Transport != "" || via != transportHTTP || !slices.Contains(d.config.Modules.Transports(), transportSSE) {
		return []string{via}
	}
	switch s.Strategy {
	case "http-only":
		return []string{transportHTTP}
	case "sse-only":
		return []string{transportSSE}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if found := d.found[s.URL]; found == transportSSE || found == "" && s.Strategy == "sse-first" {
		return []string{transportSSE, transportHTTP}
	}
	return []string{transportHTTP, transportSSE}
}

// elsewhere reports whether err, of a try over one transport, says that the
// server may be reached over the other. What was remembered may be outdated.
func elsewhere(via string, err error) bool {
	return errors.Is(err, session.ErrOtherTransport) || via == transportSSE
}

// remember keeps which transport a url has.
func (d *Dialer) remember(s config.Server, via string) {
	if s.URL == "" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.found[s.URL] = via
}

// timeout returns what a request to a server may take; 0 is no limit.
func (d *Dialer) timeout(s config.Server) time.Duration {
	if s.Timeout != 0 {
		return max(s.Timeout, 0)
	}
	return max(d.config.Timeout, 0)
}
