package manager

import (
	"context"
	"time"

	"github.com/wharf-mcp/wharf/host/status"
)

// Conn is one connection, as long as it lasts. It is a pointer, or something else
// that can be compared. Its methods are called from one goroutine at a time, beside
// Done, Err, Forgotten, Retire, Heard and Ping.
type Conn interface {
	// Done is closed when the connection has ended, from either side.
	Done() <-chan struct{}

	// Err says why it ended; it is nil until Done is closed.
	Err() error

	// Forgotten reports whether the connection stands and the server has forgotten what
	// it was about, so that it is good for another handshake and for nothing else.
	Forgotten() bool

	// Retire says that no more calls are given to the connection. It returns at once,
	// and calls nothing of this package. It is called before the connection ends in any
	// of the ways of [Ending].
	Retire()

	// Heard returns when something last came over the connection, which is now while a
	// call is in flight.
	Heard() time.Time

	// Ping asks the server for a sign of life. Any answer is one, also an error.
	Ping(ctx context.Context) error

	// Drain waits until calls in flight have ended, or ctx ends.
	Drain(ctx context.Context)

	// Close ends the connection and returns when nothing of it is left. With leave,
	// what the server keeps for it is left to the next connection. It is called once,
	// also after the connection has ended by itself.
	Close(leave bool) error
}

// DialFunc makes a connection. ctx lasts as long as that is wanted; when it ends
// before there is one, the dial gives up. It leaves nothing behind where it
// returns an error. It is never called again before its last call has returned and
// the connection that came of it has ended.
//
// after is the connection before, where the new one may go on with what that has left,
// or nil. It was closed, unless it is Forgotten: then the new connection takes it over
// or closes it, and an error leaves it as it is.
type DialFunc func(ctx context.Context, after Conn) (Conn, error)

// Config is what a driver needs to know of a server.
type Config struct {
	Name string
	Dial DialFunc

	// Classify says what a dial failed for.
	Classify func(error) status.Reason

	// Pulse says how a connection is watched that was just made; nil is not at all.
	Pulse func() Pulse

	Disabled bool // until Enable
	Policy   Policy
}
