package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/stream"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/modules"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
)

// Accept configures a connection to a client that has connected to this program over a byte stream.
type Accept struct {
	Name      string // of the client, for errors and traces
	Transport string // the plugin that frames the messages; "" is stdio
	Framing   string // the setting of the plugin; "" makes stdio follow the client

	// Cancel is how requests are cancelled; its zero value is the way of MCP.
	Cancel rpc.Cancellation

	// Stream leads to the client. The connection closes it, which must end a waiting Read and
	// Write. If it has a CloseWrite, the client reads the end of the stream after the last answer.
	Stream io.ReadWriteCloser

	// Handler answers the client. Its work on a request must end with the request's context. A
	// handler that sends notifications about a request must send them before it returns: the answer
	// follows them.
	Handler rpc.Handler

	// Untraced keeps the messages of the client out of traces: they may have what a person types.
	Untraced bool

	// Begin, if not nil, is called with the peer before Handler gets the first message.
	Begin func(*rpc.Peer)
}

const transportStdio = "stdio"

// Accepted is a connection to a client. It must be shut down, also after it has ended by itself.
type Accepted struct {
	// Peer is the connection in its serving role. Each method that sends waits while the client
	// reads nothing, until its context ends; there is no other timeout.
	Peer *rpc.Peer

	connection *connection
	stream     *stream.Accepted
	input      chan struct{} // closed when the client has ended its side
	inputOnce  sync.Once
	answered   atomic.Bool   // all requests of the client were answered after it ended its side
	done       chan struct{} // closed when nothing is left
}

// clientStall is how long a client may read nothing of what waits for it, once it has ended its
// side or its connection is ending.
const clientStall = 10 * time.Second

// heldAnswers is how many bytes may wait for a client before the host stops reading from it.
const heldAnswers = 16 << 20

var errClientStalled = errors.New("the client takes nothing more")

// Accept starts a plugin that frames the messages of a client, and serves the client. It closes the
// stream also if it fails.
func (d *Dialer) Accept(ctx context.Context, accept Accept) (*Accepted, error) {
	a, err := d.accept(ctx, accept)
	if err != nil {
		accept.Stream.Close()
		return nil, fmt.Errorf("serve client %s: %w", accept.Name, err)
	}
	return a, nil
}

func (d *Dialer) accept(ctx context.Context, accept Accept) (*Accepted, error) {
	via := cmp.Or(accept.Transport, transportStdio)
	framing := accept.Framing
	if via == transportStdio && framing == "" {
		framing = "auto"
	}
	if err := d.mayServe(via); err != nil {
		return nil, err
	}
	t, err := d.attempt(ctx, config.Server{Name: accept.Name, Transport: via, Framing: framing}, via)
	if err != nil {
		return nil, err
	}
	c, err := t.start(ctx, nil)
	if err != nil {
		return nil, err
	}
	a := &Accepted{connection: c, input: make(chan struct{}), done: make(chan struct{})}
	if err := a.open(t, &accept); err != nil {
		c.inst.Close(ctx)
		return nil, err
	}
	return a, nil
}

// mayServe returns an error for an installed plugin that the user does not allow to frame clients:
// such a plugin could invent requests to every server that the clients reach.
func (d *Dialer) mayServe(via string) error {
	const access = "serve"
	i := d.config.Modules.Files()[via].Installed
	if i == nil || slices.Contains(i.Kinds, access) {
		return nil
	}
	return hosterr.Errorf(hosterr.ErrDenied, fmt.Sprintf("it could send requests of its own to each server behind it; if you trust it with that: wharf plugin grant %s %s", via, access),
		"the plugin %s is not allowed to serve clients", via)
}

// open gives the guest its stream and begins to serve.
func (a *Accepted) open(t *attempt, accept *Accept) error {
	c := a.connection
	manifest := c.inst.Manifest()
	kind, err := streamOf(&manifest, t.via)
	if err != nil {
		return err
	}
	a.stream = &stream.Accepted{
		As: kind, Name: accept.Name, Stream: accept.Stream,
		AwaitRoom: a.awaitRoom, InputEnded: a.inputEnded,
	}
	t.grants = []capability.Grant{{Name: modules.MainGrant, To: a.stream}}
	settings, err := t.settings(&manifest)
	if err != nil {
		return err
	}
	const forever = math.MaxInt64 / 4
	c.table = capability.NewTable(capability.Config{
		Grants: t.grants, Grace: capability.Grace{Stdin: forever}, Limits: capability.Limits{Stall: forever},
	})
	if !accept.Untraced {
		c.trace = t.dialer.config.Trace.Connect(accept.Name, t.via)
	}
	message, dropped := t.observers(c)
	a.Peer = rpc.NewPeer(rpc.Config{
		Link: link{c}, Handler: accept.Handler, Cancel: accept.Cancel, Serving: true, Trace: message, Dropped: dropped, Broken: c.breakOff,
	})
	c.peer = a.Peer
	if accept.Begin != nil {
		accept.Begin(a.Peer)
	}
	c.AfterEnd(a.clear)
	c.inst.Open(settings, nil, c.table, receiver{c.peer, c})
	return nil
}

// streamOf returns the kind of handle that a plugin opens to its server: a byte stream, or the
// pipes of a process. The client's stream takes its place.
func streamOf(m *abi.Manifest, via string) (abi.OpenKind, error) {
	for _, g := range m.Grants {
		if g.Name == modules.MainGrant && (g.Kind == abi.OpenProcess || g.Kind == abi.OpenStream) {
			return g.Kind, nil
		}
	}
	return 0, hosterr.Configf("transport %s cannot serve: it opens no stream of bytes, which a client is", via)
}

// awaitRoom waits until the client has taken enough of the answers that wait for it, so that the
// host may read its next requests.
func (a *Accepted) awaitRoom(ctx context.Context) error {
	if err := a.Peer.AwaitRoom(ctx); err != nil {
		return err
	}
	return a.connection.inst.AwaitSent(ctx, heldAnswers)
}

func (a *Accepted) inputEnded() {
	a.inputOnce.Do(func() {
		a.Peer.InputEnded()
		close(a.input)
		go a.finish()
	})
}

// finish ends the connection of a client that has ended its side, after the last answer.
func (a *Accepted) finish() {
	ctx, stop := a.untilClientStalls(context.Background())
	defer stop()
	a.answered.Store(a.Peer.AwaitAnswered(ctx) == nil)
	a.shutdown(ctx)
}

// InputEnded is closed when the client has ended its side. Its earlier requests are still answered.
// Requests that would last until the client leaves must end then.
func (a *Accepted) InputEnded() <-chan struct{} { return a.input }

// Done is closed when the connection has ended and nothing of it is left.
func (a *Accepted) Done() <-chan struct{} { return a.done }

// Err says why the connection ended. It is nil before that, and if the client ended its side and had
// all its answers.
func (a *Accepted) Err() error {
	select {
	case <-a.done:
	default:
		return nil
	}
	if err := a.connection.Err(); !a.answered.Load() || !errors.Is(err, guest.ErrClosed) {
		return err
	}
	if err := a.stream.Broken(); !errors.Is(err, syscall.EPIPE) { // a client that has left wants no answer
		return err
	}
	return nil
}

// Await waits until the connection or ctx ends, shuts the connection down and returns Err. It calls
// inputEnded when the client has ended its side, see InputEnded.
func (a *Accepted) Await(ctx context.Context, inputEnded func()) error {
	select {
	case <-a.InputEnded():
		inputEnded()
		select {
		case <-a.Done():
		case <-ctx.Done():
		}
	case <-a.Done():
	case <-ctx.Done():
	}
	a.Shutdown(context.WithoutCancel(ctx))
	return a.Err()
}

// Shutdown ends the connection. What is queued for the client is sent before that, as long as the
// client reads and ctx has not ended. When it returns nothing is left but handlers that have not
// returned.
func (a *Accepted) Shutdown(ctx context.Context) error {
	ctx, stop := a.untilClientStalls(ctx)
	defer stop()
	return a.shutdown(ctx)
}

func (a *Accepted) shutdown(ctx context.Context) error {
	if a.Peer.Flush(ctx) == nil {
		a.connection.inst.AwaitSent(ctx, 0)
	}
	err := a.connection.Shutdown(ctx)
	<-a.done
	return err
}

// clear waits until nothing is left of a connection whose guest is gone.
func (a *Accepted) clear() {
	ctx, stop := a.untilClientStalls(context.Background())
	defer stop()
	a.connection.table.Close(ctx)
	close(a.done)
}

// untilClientStalls returns a context that ends when the client stops taking what waits for it.
func (a *Accepted) untilClientStalls(ctx context.Context) (patient context.Context, stop func()) {
	return untilStalled(ctx, func() progress {
		queued, taken := a.stream.Progress()
		return progress{a.connection.inst.Waiting() + queued, taken}
	})
}

// progress holds how many bytes wait for a client, and how many it has taken so far.
type progress struct {
	waiting int
	taken   int64
}

// untilStalled returns a context that ends when bytes wait and now has returned the same for
// clientStall. It notices that after at most twice clientStall.
func untilStalled(ctx context.Context, now func() progress) (patient context.Context, stop func()) {
	patient, cancel := context.WithCancelCause(ctx)
	go func() {
		for last := (progress{}); ; {
			select {
			case <-patient.Done():
				return
			case <-time.After(clientStall):
			}
			p := now()
			if p == last && p.waiting > 0 {
				cancel(errClientStalled)
				return
			}
			last = p
		}
	}()
	return patient, func() { cancel(nil) }
}
