package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/internal/connect"
)

// Config says what a gateway serves.
type Config struct {
	// Server is the entry of the server that clients reach, as if they were connected to it.
	Server host.Server

	// Transport is the plugin that frames the messages of clients on streams; "" is stdio.
	// Framing is its setting of that name; "" has stdio follow the client.
	Transport, Framing string

	// Principal returns whose an HTTP request is; an error refuses the request with 401. Principals
	// have nothing in common: each has sessions of its own. nil takes all requests for one
	// principal's.
	Principal func(*http.Request) (string, error)

	// Hosts are names, without ports, by which clients reach [Gateway.Handler] beside those of this
	// machine's loopback interface.
	Hosts []string
}

// Gateway serves clients. Its methods may be called from any goroutine.
type Gateway struct {
	host   *host.Host
	config Config
	seal   *seal

	parkTime time.Duration // how long a client may take to answer a question

	ctx     context.Context // ends with Close
	cancel  context.CancelCauseFunc
	mu      sync.Mutex
	closed  bool
	clients sync.WaitGroup
}

// ErrClosed is why clients of a closed gateway are served no more.
var ErrClosed = errors.New("the gateway is closed")

// New returns a gateway to a server. It starts nothing: a client that needs the server has it
// started. The caller closes the gateway before it closes the host.
func New(h *host.Host, c Config) (*Gateway, error) {
	if c.Server.Name == "" {
		return nil, errors.New("gateway: Config.Server has no name")
	}
	seal, err := newSeal()
	if err != nil {
		return nil, err
	}
	g := &Gateway{host: h, config: c, seal: seal, parkTime: parkTime}
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	return g, nil
}

// ServeConn serves one client over a stream, which it closes. It returns when the client has ended
// its side and has all its answers, when the stream breaks, or when ctx or the gateway ends. An
// error says why the stream broke. The client has sessions of its own with the server; none is left
// when ServeConn returns.
func (g *Gateway) ServeConn(ctx context.Context, stream io.ReadWriteCloser) error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		stream.Close()
		return ErrClosed
	}
	g.clients.Add(1)
	g.mu.Unlock()
	defer g.clients.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(g.ctx, func() { cancel(ErrClosed) })()

	p := newPipe(ctx, g)
	defer p.leave()
	a, err := g.host.Accept(ctx, connect.Accept{
		Name: "client", Transport: g.config.Transport, Framing: g.config.Framing, Stream: stream, Handler: p,
	})
	if err != nil {
		return err
	}
	p.begin(a.Peer)
	select {
	case <-a.InputEnded():
		p.inputEnded()
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

// Close ends all clients. When it returns, nothing of them is left.
func (g *Gateway) Close() error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.cancel(ErrClosed)
	g.clients.Wait()
	return nil
}
