// Package status defines the states of the servers of a host, the reasons for them, and what a
// server says of itself.
package status

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// State is the state of a server. Its text is stable: programs read it.
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

// Reason says why a server is in its state, or why a dial failed. Its text is stable.
type Reason uint8

// The reasons for a state. Those from Unreachable to PluginRefused, and SignIn, are also reasons
// of a failed dial.
const (
	NotStarted    Reason = iota // not wanted yet
	Wanted                      // it was asked for
	Ready                       // the connection stands
	Lost                        // the connection ended unasked
	Unreachable                 // the dial failed, and may go better next time
	BadConfig                   // its entry cannot work
	Denied                      // a grant or an approval is missing
	PluginRefused               // its plugin cannot be loaded
	SignIn                      // it wants a sign-in that needs a person
	FailsOften                  // the breaker is open
	Changed                     // its entry or its plugin changed
	TurnedOff                   // it was disabled
	Closed                      // it was closed
	Idle                        // it was stopped since it was not used; the next request starts it
)

var reasons = [...]string{
	"not-started", "wanted", "ready", "lost", "unreachable", "config", "denied", "plugin-refused",
	"sign-in", "fails-often", "changed", "disabled", "closed", "idle",
}

func (r Reason) String() string {
	if int(r) < len(reasons) {
		return reasons[r]
	}
	return fmt.Sprintf("reason(%d)", uint8(r))
}

// MarshalText returns the text of the reason.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Status describes one server at a moment.
type Status struct {
	ID     uint64 // tells sessions apart, even those of the same name
	Name   string
	State  State
	Reason Reason
	Since  time.Time // when the state began

	Err     error     // the newest one; it stays when the server works again
	Attempt int       // how many dials since the server last worked
	Next    time.Time // when it is next dialled without being asked; zero is never

	// The newest connection.
	Era       string
	Protocol  string // the revision
	Transport string // the plugin

	Latency time.Duration // of the newest ping; 0 is not known
	Tools   int           // how many the newest list had
	Stale   bool          // that list is from an earlier connection or run
}

// Counts are how often a host has connected servers, and asked a person to sign in, since it was made.
type Counts struct {
	Connected   uint64 // connections that were ready for calls
	Reconnected uint64 // of these, those of a session that had one before
	Stopped     uint64 // connections that were ended since no request needed the server
	SignIns     uint64 // how often a person was asked to sign in
	SigningIn   uint64 // of these, those that have not ended
}

// Info is what a server said of itself in the newest handshake, and the protocol and transport
// in use. Strings and capabilities are the server's words.
type Info struct {
	Server       mcp.Implementation // what the server calls itself
	Protocol     string             // the revision in use
	Era          mcp.Era
	Instructions string
	Capabilities json.RawMessage
	Transport    string // the plugin that carries the session

	Raw json.RawMessage `json:"-"` // the whole answer to the handshake
}

// ServerInfo returns what the server calls itself, as it wrote it: an object, or nil where it said
// nothing.
func (i Info) ServerInfo() json.RawMessage {
	path := []string{"serverInfo"}
	if i.Era == mcp.Modern {
		path = []string{"_meta", mcp.MetaServerInfo}
	}
	text := []byte(i.Raw)
	for _, want := range path {
		var found []byte
		r := strictjson.Read(text)
		for name := range r.Object() {
			if string(name) == want {
				found = r.Raw()
			}
		}
		text = found
	}
	return text
}

// Known holds the lists that a server was last known to have.
type Known struct {
	Tools     Listed[mcp.Tool]
	Prompts   Listed[mcp.Prompt]
	Resources Listed[mcp.Resource]
	Templates Listed[mcp.ResourceTemplate]
}

// Listed is a list with the time at which it was read.
type Listed[T any] struct {
	Items []T
	At    time.Time // when the server was asked; zero is never

	// Stale says that the list may have changed: the server was not asked since it was last
	// connected, or has said that its list changed.
	Stale bool
}

// Update is a change of the status of a server. Those of one server come in order.
type Update struct {
	Seq  uint64 // grows from one change to the next, of all servers
	Gone bool   // the session was closed; the status is its last
	Status
}

// Watch reads the status of all servers. Host.Watch returns one, which begins with one update for
// each server that there is. A slow reader delays nothing: it gets only the newest update of each
// server.
type Watch interface {
	// Next waits for an update. After Close of the watch, and after the last update of a host
	// that was closed, the error is ErrClosed of package host.
	Next(ctx context.Context) (Update, error)

	// Close ends the watch. A Next that waits returns.
	Close()
}
