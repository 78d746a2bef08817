package host

import (
	"context"
	"errors"

	"github.com/wharf-mcp/wharf/host/internal/manager"
	"github.com/wharf-mcp/wharf/host/status"
)

func statusOf(s manager.Snapshot) status.Status {
	return status.Status{
		ID: s.ID, Name: s.Name, State: s.State, Reason: s.Reason, Since: s.Since,
		Err: explain(s.Name, s.Err), Attempt: s.Attempt, Next: s.Next,
		Era: s.Era, Protocol: s.Revision, Transport: s.Transport,
		Latency: s.Latency, Tools: s.Tools, Stale: s.Stale,
	}
}

// Status returns the status of the server.
func (s *Session) Status() status.Status { return statusOf(s.driver.Snapshot()) }

// Servers returns the status of every server, sorted by name.
func (h *Host) Servers() []status.Status {
	var all []status.Status
	for _, s := range h.manager.Registry().Snapshots() {
		all = append(all, statusOf(s))
	}
	return all
}

// Watch is one reader's view of the status of all servers. It begins with every server
// that there is. A slow reader blocks no one: it gets only the newest update of each
// server.
type Watch struct {
	inner *manager.Subscription
}

// Watch may be called at any time, also before the first server is added. The caller
// closes the watch, which ends with the host too.
func (h *Host) Watch() *Watch { return &Watch{h.manager.Registry().Subscribe()} }

// Next waits for an update. After Close of the watch, and after the last update of a host
// that was closed, the error is [ErrClosed].
func (w *Watch) Next(ctx context.Context) (status.Update, error) {
	n, err := w.inner.Next(ctx)
	switch {
	case errors.Is(err, manager.ErrRegistryClosed):
		return status.Update{}, ErrClosed
	case err != nil:
		return status.Update{}, err
	}
	return status.Update{Seq: n.Seq, Gone: n.Gone, Status: statusOf(n.Snapshot)}, nil
}

// Close ends the watch. A Next that waits returns.
func (w *Watch) Close() { w.inner.Close() }
