package manager

import (
	"fmt"
	"time"
)

// State is how it stands with a server. Its text is stable: programs read it.
type State uint8

// The states of a server.
const (
	Disconnected State = iota // not wanted yet, or closed for good
	Connecting                // being reached; it has not been connected before
	Connected                 // ready for calls
	Reconnecting              // was connected, and is being reached again
	AuthRequired              // waits for a sign-in
	Failed                    // given up: until Next, or until the entry changes
	Disabled                  // turned off
	Closing                   // what is left of it is going away
)

var states = [...]string{
	"disconnected", "connecting", "connected", "reconnecting", "auth-required", "failed", "disabled", "closing",
}

func (s State) String() string {
	if int(s) < len(states) {
		return states[s]
	}
	return fmt.Sprintf("state(%d)", uint8(s))
}

// MarshalText returns the text of the state.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Reason is why a server is in its state, and also what a failed dial failed
// for. Its text is stable.
type Reason uint8

// The reasons for a state. Those from Unreachable to PluginRefused, and SignIn,
// are also reasons for which a dial fails.
const (
	NotStarted    Reason = iota // not wanted yet
	Wanted                      // it was asked for
	Ready                       // the connection stands
	Lost                        // the connection ended by itself
	Unreachable                 // the dial failed, and may go better next time
	BadConfig                   // its entry cannot work
	Denied                      // a grant or an approval is missing
	PluginRefused               // its plugin cannot be loaded
	SignIn                      // it wants a sign-in that needs a person
	FailsOften                  // the breaker is open
	Changed                     // its entry or its plugin changed
	TurnedOff                   // it was disabled
	Closed                      // it was closed
)

var reasons = [...]string{
	"not-started", "wanted", "ready", "lost", "unreachable", "config", "denied", "plugin-refused",
	"sign-in", "fails-often", "changed", "disabled", "closed",
}

func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}

// MarshalText returns the text of the reason.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// permanent reports whether trying again is of no use before the entry changes.
func (r Reason) permanent() bool { return r == BadConfig || r == Denied || r == PluginRefused }

// Status is what a machine says about its server.
type Status struct {
	State   State
	Reason  Reason
	Since   time.Time // when the state began
	Err     error     // the newest one; it stays when all is well again
	Attempt int       // dials since the server was last well
	Next    time.Time // of the next dial that comes by itself; zero is none
}

// Refusal is why there is no connection to be had now. It unwraps to the error
// behind it, where there is one.
type Refusal struct {
	State  State
	Reason Reason
	Err    error
	Next   time.Time     // when it is tried again; zero is not by itself
	In     time.Duration // the same, from when this was said

	often string // how often it failed, for FailsOften
}

func (r *Refusal) Error() string {
	switch {
	case r.Reason == FailsOften:
		return fmt.Sprintf("%s; it is tried again in %v; the last failure: %v", r.often, r.in(), r.Err)
	case r.Reason == TurnedOff:
		return "the server is disabled"
	case r.Reason == Closed:
		return "the server is closed"
	case r.Err == nil:
		return "no connection: " + r.Reason.String()
	case r.State == Failed && !r.Next.IsZero():
		return fmt.Sprintf("%v; it is tried again in %v, or by the next call", r.Err, r.in())
	}
	return r.Err.Error()
}

func (r *Refusal) in() time.Duration { return r.In.Round(time.Second) }

// Unwrap returns the error of the dial, or of the connection, or nil.
func (r *Refusal) Unwrap() error { return r.Err }
