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

// Watch returns a watch of the servers. It may be called at any time, also before the first
// server is added. The caller closes the watch, which ends with the host too.
func (h *Host) Watch() status.Watch { return watch{h.manager.Registry().Subscribe()} }

// watch is a subscription to the registry with the errors of this package.
type watch struct{ *manager.Subscription }

func (w watch) Next(ctx context.Context) (status.Update, error) {
	u, err := w.Subscription.Next(ctx)
	if errors.Is(err, manager.ErrRegistryClosed) {
		err = ErrClosed
	}
	u.Status = explained(u.Status)
	return u, err
}
