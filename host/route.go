package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/session"
)

// The transports of a url. The second is tried where the first is not spoken.
const (
	transportHTTP = "http"
	transportSSE  = "sse"
)

// reach connects a session over one of the transports that its entry may have. after is
// as for [session.Session.Connect].
func (h *Host) reach(ctx context.Context, s *Session, entry Server, after *session.Conn) (*session.Conn, error) {
	var first error
	for _, via := range h.routes(entry) {
		c, err := h.connect(ctx, s, entry, via, after)
		if err == nil {
			h.remember(entry, via)
			return c, nil
		}
		if first != nil {
			err = fmt.Errorf("%w; and over %s: %w", first, via, err)
		}
		if first = err; !elsewhere(via, err) {
			break
		}
	}
	return nil, explain(entry.Name, first)
}

// connect connects a session over one transport. What the entry leads to is found
// out anew each time: its plugin, its grants and its sign-in.
func (h *Host) connect(ctx context.Context, s *Session, entry Server, via string, after *session.Conn) (*session.Conn, error) {
	d, err := h.dialer(ctx, entry, via)
	if err != nil {
		return nil, err
	}
	w, err := d.way()
	if err != nil {
		return nil, err
	}
	w.Dial = func(ctx context.Context, handler rpc.Handler) (*session.Dialed, error) {
		made, err := d.dial(ctx, handler)
		if err == nil {
			s.starting.Store(made.Transport.(*connection))
		}
		return made, err
	}
	defer s.starting.Store(nil)
	c, err := s.inner.Connect(ctx, w, after)
	return c, s.notUp(err)
}

// notUp adds to the end of the patience with a server, while it is being connected,
// that it is the plugin that lets no message pass.
func (s *Session) notUp(err error) error {
	c := s.starting.Load()
	if c == nil || c.inst.Up() || !errors.Is(err, rpc.ErrTimeout) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w; its plugin has not reported UP, and no message was sent (WHARF_TRACE=abi shows what it waits for)", err)
}

// way returns how a session connects over the transport. HTTP+SSE has only one
// era.
func (d *dialer) way() (*session.Way, error) {
	w := &session.Way{
		Dial: d.dial, Resume: d.resume, Transport: d.via, Protocol: d.server.Protocol,
		Timeout: cmp.Or(d.host.timeout(d.server), -1), StartTimeout: d.host.startTimeout(d.server),
	}
	if d.via == transportSSE && w.Protocol == "" {
		w.Protocol = session.LegacyOnly
	}
	if err := w.Check(); err != nil {
		return nil, hosterr.Configf("%w", err)
	}
	return w, nil
}

// startTimeout returns what the start of a server may take; below zero is no limit.
func (h *Host) startTimeout(s Server) time.Duration {
	limit := cmp.Or(s.StartTimeout, h.config.StartTimeout)
	if limit == 0 && h.timeout(s) == 0 {
		return -1
	}
	return limit
}

// routes returns the transports to try for an entry, in order.
func (h *Host) routes(s Server) []string {
	via := s.Via()
	if s.Transport != "" || via != transportHTTP || !slices.Contains(h.Transports(), transportSSE) {
		return []string{via}
	}
	switch s.Strategy {
	case "http-only":
		return []string{transportHTTP}
	case "sse-only":
		return []string{transportSSE}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if found := h.found[s.URL]; found == transportSSE || found == "" && s.Strategy == "sse-first" {
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
func (h *Host) remember(s Server, via string) {
	if s.URL == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.found[s.URL] = via
}
