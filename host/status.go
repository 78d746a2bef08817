package host

import (
	"context"
	"errors"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/manager"
)

// State is how it stands with a server. Its text is stable: programs read it.
type State = manager.State

// The states of a server.
const (
	StateDisconnected = manager.Disconnected // nobody has wanted it, or it is closed for good
	StateConnecting   = manager.Connecting   // being reached; it has not been connected before
	StateConnected    = manager.Connected    // ready for calls
	StateReconnecting = manager.Reconnecting // was connected, and is being reached again
	StateAuthRequired = manager.AuthRequired // waits for a sign-in
	StateFailed       = manager.Failed       // given up: until Next, or until the entry changes
	StateDisabled     = manager.Disabled     // turned off
	StateClosing      = manager.Closing      // what is left of it is going away
)

// Reason is why a server is in its state. Its text is stable.
type Reason = manager.Reason

// The reasons for a state.
const (
	ReasonNotStarted    = manager.NotStarted    // nobody has wanted it yet
	ReasonWanted        = manager.Wanted        // it was asked for
	ReasonReady         = manager.Ready         // the connection stands
	ReasonLost          = manager.Lost          // the connection ended by itself
	ReasonUnreachable   = manager.Unreachable   // it could not be started or reached
	ReasonConfig        = manager.BadConfig     // its entry cannot work
	ReasonDenied        = manager.Denied        // a grant or an approval is missing
	ReasonPluginRefused = manager.PluginRefused // its plugin cannot be loaded
	ReasonSignIn        = manager.SignIn        // it wants a sign-in that needs a person
	ReasonFailsOften    = manager.FailsOften    // it failed too often in too short a time
	ReasonChanged       = manager.Changed       // its entry or its plugin changed
	ReasonTurnedOff     = manager.TurnedOff     // it was disabled
	ReasonClosed        = manager.Closed        // it was closed
)

// Status is what is known of one server at a moment.
type Status struct {
	ID     uint64 // tells sessions apart, of the same name too
	Name   string
	State  State
	Reason Reason
	Since  time.Time // when the state began

	Err     error     // the newest one; it stays when all is well again
	Attempt int       // how often it was dialled since it was last well
	Next    time.Time // when it is next dialled by itself; zero is never

	// What the newest connection was like.
	Era       string
	Protocol  string // the revision
	Transport string // the plugin

	Latency time.Duration // of the newest [Session.Ping]; 0 is not known
	Tools   int           // how many the newest list had
	Stale   bool          // that list is from an earlier connection
}

func statusOf(s manager.Snapshot) Status {
	return Status{
		ID: s.ID, Name: s.Name, State: s.State, Reason: s.Reason, Since: s.Since,
		Err: explain(s.Name, s.Err), Attempt: s.Attempt, Next: s.Next,
		Era: s.Era, Protocol: s.Revision, Transport: s.Transport,
		Latency: s.Latency, Tools: s.Tools, Stale: s.Stale,
	}
}

// Status returns how it stands with the server.
func (s *Session) Status() Status { return statusOf(s.driver.Snapshot()) }

// Servers returns how it stands with all servers, by name.
func (h *Host) Servers() []Status {
	var all []Status
	for _, s := range h.manager.Registry().Snapshots() {
		all = append(all, statusOf(s))
	}
	return all
}

// News is that something changed about a server. Of one server they come in order.
type News struct {
	Seq  uint64 // grows from one change to the next, of all servers
	Gone bool   // the session was closed; the status is its last
	Status
}

// Watch is one reader's view of how it stands with the servers. It begins with all
// that there are. A reader that is slow, or that never reads, holds nobody up: of
// each server it then gets the newest news alone.
type Watch struct {
	inner *manager.Subscription
}

// Watch may be called at any time, before the first server is added too. What it
// returns should be closed, and ends with the host.
func (h *Host) Watch() *Watch { return &Watch{h.manager.Registry().Subscribe()} }

// Next waits for news. After Close of the watch, and after the last news of a host
// that was closed, the error is [ErrClosed].
func (w *Watch) Next(ctx context.Context) (News, error) {
	n, err := w.inner.Next(ctx)
	switch {
	case errors.Is(err, manager.ErrRegistryClosed):
		return News{}, ErrClosed
	case err != nil:
		return News{}, err
	}
	return News{Seq: n.Seq, Gone: n.Gone, Status: statusOf(n.Snapshot)}, nil
}

// Close ends the watch. A Next that waits returns.
func (w *Watch) Close() { w.inner.Close() }
