package manager

import (
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/host/status"
)

// UnavailableError says why there is no connection now. It unwraps to the error of the dial or the
// connection, if there is one.
type UnavailableError struct {
	State  status.State
	Reason status.Reason
	Err    error
	Next   time.Time     // the time of the next dial; zero if only a call or a person causes one
	In     time.Duration // the time from the refusal to Next

	final bool   // the policy takes the first failure as final, as for commands: a later try is of no use
	often string // how often the server failed, for FailsOften
}

func (r *UnavailableError) Error() string {
	switch {
	case r.Reason == status.FailsOften:
		return fmt.Sprintf("%s; it is tried again in %v; the last failure: %v", r.often, r.in(), r.Err)
	case r.Reason == status.TurnedOff:
		return "the server is disabled"
	case r.Reason == status.Closed:
		return "the server is closed"
	case r.Err == nil:
		return "no connection: " + r.Reason.String()
	case r.State == status.Failed && !r.Next.IsZero() && !r.final:
		return fmt.Sprintf("%v; it is tried again in %v, or by the next call", r.Err, r.in())
	}
	return r.Err.Error()
}

func (r *UnavailableError) in() time.Duration { return r.In.Round(time.Second) }

// Unwrap returns the error of the dial, or of the connection, or nil.
func (r *UnavailableError) Unwrap() error { return r.Err }
