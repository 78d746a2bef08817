package host

import (
	"context"
	"errors"

	"github.com/wharf-mcp/wharf/host/internal/manager"
	"github.com/wharf-mcp/wharf/host/status"
)

// explained returns a status whose error has a kind and a hint.
func explained(s status.Status) status.Status {
	s.Err = explain(s.Name, s.Err)
	return s
}

// Status returns the status of the server.
func (s *Session) Status() status.Status { return explained(s.driver.Status()) }

// Servers returns the status of every server, sorted by name.
func (h *Host) Servers() []status.Status {
	all := h.manager.Registry().Statuses()
	for i, s := range all {
		all[i] = explained(s)
	}
	return all
}

// Watch is one reader's view of the status of all servers. It begins with every server
// that there is. A slow reader blocks no one: it gets only the newest update of each
// server.
type Watch struct {
	inner *manager.Subscription
}

// Watch returns a watch of the servers. It may be called at any time, also before the first
// server is added. The caller closes the watch, which ends with the host too.
func (h *Host) Watch() *Watch { return &Watch{h.manager.Registry().Subscribe()} }

// Next waits for an update. After Close of the watch, and after the last update of a host
// that was closed, the error is [ErrClosed].
func (w *Watch) Next(ctx context.Context) (status.Update, error) {
	u, err := w.inner.Next(ctx)
	if errors.Is(err, manager.ErrRegistryClosed) {
		err = ErrClosed
	}
	u.Status = explained(u.Status)
	return u, err
}

// Close ends the watch. A Next that waits returns.
func (w *Watch) Close() { w.inner.Close() }
