package host

import (
	"context"
	"errors"

	"github.com/wharf-mcp/wharf/host/internal/manager"
	"github.com/wharf-mcp/wharf/host/status"
)

// explained returns a status with the kind and the hint added to its error.
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

// Watch returns a watch of all servers. It may be called at any time, even before the first
// server is added. The caller closes the watch; Close of the host ends it too.
func (h *Host) Watch() status.Watch { return watch{h.manager.Registry().Subscribe()} }

// watch is a subscription to the registry that explains the errors of each status.
type watch struct{ *manager.Subscription }

func (w watch) Next(ctx context.Context) (status.Update, error) {
	u, err := w.Subscription.Next(ctx)
	if errors.Is(err, manager.ErrRegistryClosed) {
		err = ErrClosed
	}
	u.Status = explained(u.Status)
	return u, err
}

// Counts returns how often the host has connected servers, and asked the person to sign in, since [New].
func (h *Host) Counts() status.Counts {
	c := &h.counts
	signedIn := c.signedIn.Load() // first: each of them is one of signIns then
	signIns := c.signIns.Load()
	return status.Counts{
		Connected: c.connected.Load(), Reconnected: c.reconnected.Load(), Stopped: c.stopped.Load(),
		SignIns: signIns, SigningIn: signIns - signedIn,
	}
}
