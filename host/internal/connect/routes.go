package connect

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/internal/session"
)

// The transports of a url. The second is tried if the server does not speak the first.
const (
	transportHTTP = "http"
	transportSSE  = "sse"
)

// Connect connects a session over one of the transports that its entry allows. after is as for
// [session.Session.Connect]. starting holds the connection while it is made. Plugin, grants and
// sign-in of the entry are read anew each time. When the server refuses the headers, the connection calls reread, which
// returns the entry with its secrets as they are now. An entry without secrets has a nil reread.
func (d *Dialer) Connect(ctx context.Context, s *session.Session, entry config.Server, reread Reread, after *session.Conn, starting *Starting) (*session.Conn, error) {
	began := time.Now()
	var errs []error
	for _, via := range d.Routes(entry) {
		spent := time.Since(began) - d.config.Modules.LoadTime(began)
		c, err := d.connect(ctx, s, entry, reread, via, after, spent, starting)
		if err == nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.found[entry.URL] = via
			return c, nil
		}
		if len(errs) > 0 {
			err = &laterTransportError{via, err}
		}
		errs = append(errs, err)
		if errors.Is(err, session.ErrNotReady) { // no time is left for another
			d.forget(entry.URL)
			break
		}
		if via != transportSSE && !errors.Is(err, session.ErrOtherTransport) { // a remembered SSE may be outdated
			break
		}
	}
	return nil, unreachable(entry, errs)
}

// forget forgets which transport the server at a url speaks.
func (d *Dialer) forget(url string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.found, url)
}

// connect connects a session over one transport. spent is how much of the time for the start has gone
// to another transport before.
func (d *Dialer) connect(ctx context.Context, s *session.Session, entry config.Server, reread Reread, via string, after *session.Conn, spent time.Duration, starting *Starting) (*session.Conn, error) {
	a, err := d.attempt(ctx, entry, via)
	if err == nil {
		a.reread(reread)
	}
	if err != nil {
		return nil, err
	}
	w := &session.ConnectOptions{
		Resume: a.resume, Transport: via, Protocol: entry.Protocol,
		Timeout: cmp.Or(d.timeout(entry), -1), StartTimeout: cmp.Or(entry.StartTimeout, d.config.StartTimeout),
		MaxTimeout: entry.MaxTimeout, Spent: spent, Aside: d.config.Modules.LoadTime,
	}
	w.Dial = func(ctx context.Context, handler rpc.Handler) (*session.Dialed, error) {
		made, err := a.dial(ctx, handler, nil)
		if err == nil {
			starting.now.Store(made.Transport.(*connection))
		}
		return made, err
	}
	if w.StartTimeout == 0 && d.timeout(entry) == 0 {
		w.StartTimeout = -1
	}
	if via == transportSSE && w.Protocol == "" { // SSE exists in one era only
		w.Protocol = session.LegacyOnly
	}
	if err := w.Check(); err != nil {
		return nil, hosterr.Configf("%w", err)
	}
	defer starting.now.Store(nil)
	c, err := s.Connect(ctx, w, after)
	return c, starting.Explain(err)
}

// Routes returns the transports to try for an entry, in order.
func (d *Dialer) Routes(s config.Server) []string {
	via := s.Via()
	if s.Transport != "" || via != transportHTTP || !d.config.Modules.Has(transportSSE) {
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

// timeout returns how long a request to a server may take; 0 is no bound.
func (d *Dialer) timeout(s config.Server) time.Duration {
	if s.Timeout != 0 {
		return max(s.Timeout, 0)
	}
	return max(d.config.Timeout, 0)
}
