package manager

import (
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/host/status"
)

// UnavailableError is why there is no connection now. It unwraps to the error behind it, where there
// is one.
type UnavailableError struct {
	State  status.State
	Reason status.Reason
	Err    error
	Next   time.Time     // when it is tried again; zero is not by itself
	In     time.Duration // the same, counted from the refusal

	final bool   // the policy takes the first failure as final, as commands do: a later try is of no use
	often string // how often it failed, for FailsOften
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
