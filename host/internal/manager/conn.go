package manager

import (
	"context"
	"time"

	"github.com/wharf-mcp/wharf/host/status"
)

// Conn is one connection. It must be comparable, such as a pointer. Its methods are called from one
// goroutine at a time, except Done, AfterEnd, Err, Forgotten, Retire, Heard and Ping.
type Conn interface {
	// Done is closed when the connection has ended, from either side.
	Done() <-chan struct{}

	// AfterEnd runs f in a goroutine of its own once Done is closed, unless stop is called before.
	AfterEnd(f func()) (stop func() bool)

	// Err says why the connection ended. It is nil until Done is closed.
	Err() error

	// Forgotten reports whether the connection is open but the server has forgotten its
	// session. Such a connection is good for another handshake and for nothing else.
	Forgotten() bool

	// Retire says that the connection gets no more calls. It returns at once, and calls nothing of
	// this package. It is called before the connection ends in any of the ways of [Ending].
	Retire()

	// Heard returns the time when something last came over the connection. While a call is in
	// flight, it returns the present time.
	Heard() time.Time

	// Ping asks the server for a sign of life. Any answer counts as one, also an error.
	Ping(ctx context.Context) error

	// Drain waits until calls in flight have ended, or ctx ends.
	Drain(ctx context.Context)

	// Close ends the connection and returns when nothing of it is left. With leave, the next
	// connection may go on with what the server keeps for this one. It is called once, also
	// after the connection has ended by itself.
	Close(leave bool) error
}

// DialFunc makes a connection. ctx lasts as long as the connection is wanted; if it ends
// before there is one, the dial gives up. A dial that returns an error leaves nothing behind.
// The function is not called again before its last call has returned and the connection of
// that call has ended.
//
// after is the previous connection if the new one may continue its session, or else nil. It is
// closed, unless it is Forgotten: then the new connection takes it over or closes it, and an
// error leaves it as it is.
type DialFunc func(ctx context.Context, after Conn) (Conn, error)

// Config configures the driver of one server.
type Config struct {
	Name string
	Dial DialFunc

	// Classify returns the reason for an error of a dial.
	Classify func(error) status.Reason

	// Pulse says how a new connection is watched; nil watches none.
	Pulse func() Pulse

	Disabled bool // until Enable
	Policy   Policy
}
