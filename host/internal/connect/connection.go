package connect

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"github.com/wharf-mcp/wharf/host/internal/redact"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/replay"
	"github.com/wharf-mcp/wharf/host/trace"
)

// connection is one guest with its table and its peer. It is the transport of a session, as long as
// it lasts.
type connection struct {
	inst      *guest.Instance
	saved     *savedState
	key       resumeKey // what another connection must share to get the state that this one saved
	table     *capability.Table
	stderr    *stderrWriter // gets the stderr of the table's processes; may be nil
	peer      *rpc.Peer
	trace     *trace.Connection  // records its messages; nil for none
	recording *replay.Connection // records its guest; nil for none
	secrets   *redact.Set        // removed from quoted texts
	server    *config.Server     // its entry
	account   *SharedAccount     // nil if the server needs no sign-in
	asked     atomic.Int64       // how many bytes were on its stderr when the first call after its last idle time began
	noise     stdoutNoise        // what it wrote to stdout during its start, other than messages
	noisy     sync.Once          // a first line of noise has come
	warned    sync.Once          // a warning has quoted a line of noise
	warn      func(server, text string)
	ended     context.Context
	end       context.CancelFunc // ends ended
	cause     error              // set before ended is done

	shut  sync.Once
	flush sync.Once // for stderr
}

// Done is closed when the connection has ended, from either side.
func (c *connection) Done() <-chan struct{} { return c.ended.Done() }

// AfterEnd runs f in a goroutine of its own once the connection has ended, unless stop is called
// before.
func (c *connection) AfterEnd(f func()) (stop func() bool) { return context.AfterFunc(c.ended, f) }

// Err says why the connection ended. It is nil until then.
func (c *connection) Err() error {
	select {
	case <-c.ended.Done():
		return c.cause
	default:
		return nil
	}
}

// flushTime bounds how long a connection that ends waits for a server to take what is queued for it.
const flushTime = 500 * time.Millisecond

// Shutdown ends the connection and everything that it opened, within flushTime and the graces of the
// guest and its processes. What is queued for the server goes out before that: it may be the
// cancellation of a call that ended just now.
func (c *connection) Shutdown(ctx context.Context) error {
	c.saved.discard()
	soon, cancel := context.WithTimeout(ctx, flushTime)
	c.peer.Flush(soon)
	cancel()
	c.trace.Closing()
	err := errors.Join(c.inst.Close(ctx), c.table.Close(ctx))
	if err == nil {
		c.flush.Do(c.stderr.flush) // the table writes no more
	}
	return err
}

// breakOff ends the connection because the other side has broken the protocol.
func (c *connection) breakOff(cause error) {
	c.setEndCause(&guest.EndedError{Cause: cause})
	c.peer.Close(c.cause)
	c.Shutdown(context.Background())
}

// setEndCause stores why the connection ended. The first reason stays.
func (c *connection) setEndCause(cause error) {
	c.shut.Do(func() {
		c.saved.end(cause)
		c.cause = c.explainEnd(cause)
		c.trace.Ended(c.cause)
		c.end()
	})
}

// unsent returns err. If a message was not sent because its guest had ended, unsent returns the
// reason of that, and ends the connection. It may be called before the guest itself reports its
// end.
func (c *connection) unsent(err error) error {
	if err == nil {
		return nil // the usual case, tested first because errors.As would allocate
	}
	var unsent *guest.UnsentError
	if !errors.As(err, &unsent) {
		return err
	}
	c.setEndCause(unsent.Cause)
	return fmt.Errorf("%w: %w: %w", rpc.ErrNotSent, rpc.ErrClosed, c.cause)
}

// unsentError is the error of a message of which nothing was sent. It is an [rpc.ErrNotSent].
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

func (e unsentError) Is(target error) bool { return target == rpc.ErrNotSent }

// receiver passes the events of a guest to the peer of its connection. It handles failures itself.
type receiver struct {
	*rpc.Peer
	connection *connection
}

// Failed ends a call. If its message never left, the call ends only after the end of the connection
// is known, so that it can go out on the next connection.
func (r receiver) Failed(exchange uint32, err error) {
	var status *guest.StatusError
	var refusal *httpclient.Refusal
	var redirect *httpclient.RedirectError
	err = r.connection.unsent(err)
	switch {
	case errors.As(err, &redirect):
		err = &rpc.StatusError{HTTP: redirect.HTTP, Refused: redirect.NotActed(), Err: err}
	case errors.As(err, &refusal):
		err = &rpc.StatusError{HTTP: refusal.HTTP, Refused: true, Err: err}
	case errors.As(err, new(*hostio.UnsentError)):
		err = unsentError{err}
	case errors.As(err, &status):
		err = &rpc.StatusError{HTTP: status.HTTP, Refused: status.Status == abi.Refused, Err: err}
	}
	r.Peer.Failed(exchange, err)
}

// Close ends the connection, because the guest has ended.
func (r receiver) Close(err error) {
	c := r.connection
	c.recording.Ended(err)
	c.setEndCause(err)
	r.Peer.Close(c.cause)
}

// link is the [rpc.Link] to the guest of a connection.
type link struct{ *connection }

func (l link) Send(ctx context.Context, m *rpc.Message) error {
	if m.Kind == abi.Request && l.server.Command != "" && l.peer.Alone() {
		l.asked.Store(l.table.StderrWritten())
	}
	return l.unsent(l.inst.Send(ctx, m))
}

func (l link) Cancel(exchange uint32) (unsent bool) { return l.inst.Cancel(exchange) }
