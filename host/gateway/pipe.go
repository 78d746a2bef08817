package gateway

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// line leads to a client. Its methods wait while the client reads nothing, until ctx ends.
type line interface {
	// ask sends a request to the client and returns its result. An error of the client is an
	// [*rpc.Error].
	ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

	// notify sends a notification. What is sent before the answer to a request arrives before it.
	notify(ctx context.Context, method string, params json.RawMessage) error
}

// request is a request of a client.
type request struct {
	id     json.RawMessage
	method string
	params json.RawMessage
	line   line // for what belongs to the request

	// header returns the text of a header of a modern request over HTTP, named in lower case, and
	// whether it is there; nil for other requests.
	header func(name string) (text string, there bool)
}

// client is a client of one era. It does not know how its messages travel.
type client interface {
	// serve answers a request. It is called for each on a goroutine of its own. Its error is an
	// [*rpc.Error], or the cause of ctx.
	serve(ctx context.Context, r *request) (json.RawMessage, error)

	// hear takes a notification of the client. It is called for one after the other.
	hear(method string, params json.RawMessage)

	// handshake returns that of a legacy client.
	handshake() *handshake

	// inputEnded says that the client asks for nothing more.
	inputEnded()

	// leave ends what the client has begun.
	leave()
}

// newClient returns a client of an era. only is the name of the server that it reaches bare; without
// it reaches all servers as one.
func (g *Gateway) newClient(ctx context.Context, era mcp.Era, l line, principal, only string) client {
	switch {
	case only == "":
		return newAggregate(ctx, g, era, l, principal)
	case era == mcp.Legacy:
		return newLegacyClient(ctx, g, l, only)
	}
	return newModernClient(ctx, g, l, principal, only)
}

// pipe is a client with a peer of its own: one on a stream, or a session over HTTP. Its first request
// that is served decides its era.
type pipe struct {
	ctx     context.Context // ends with ServeConn
	gateway *Gateway
	only    string        // the name of the server that the client reaches bare; "" is all of them as one
	ready   chan struct{} // closed when peer is set
	peer    *rpc.Peer

	order order

	mu     sync.Mutex
	client client // nil while the era is open
}

func newPipe(ctx context.Context, g *Gateway, only string) *pipe {
	return &pipe{ctx: ctx, gateway: g, only: only, ready: make(chan struct{})}
}

// begin says that messages can be sent.
func (p *pipe) begin(peer *rpc.Peer) {
	p.peer = peer
	close(p.ready)
}

// awaitPeer waits until messages can be sent. A client may be faster than that.
func (p *pipe) awaitPeer(ctx context.Context) error {
	select {
	case <-p.ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// current returns the client, or nil while its era is open.
func (p *pipe) current() client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.client
}

// Admit has a request decide the era, unless one before it has.
func (p *pipe) Admit(in *rpc.Incoming) {
	p.order.admit(in.ID())
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client == nil {
		if era := eraOf(in.Method, in.Params); era != "" {
			p.client = p.gateway.newClient(p.ctx, era, channel{pipe: p}, rand.Text(), p.only)
		}
	}
	if p.client != nil && p.client.handshake() != nil && in.Method == mcp.MethodInitialize {
		p.client.handshake().expect(in.ID())
	}
}

// Over tells a legacy client that the answer to initialize is on its way.
func (p *pipe) Over(in *rpc.Incoming, _ bool) {
	if c := p.current(); c != nil && c.handshake() != nil && in.Method == mcp.MethodInitialize {
		c.handshake().answered(in.ID())
	}
}

// Request answers a request of the client.
func (p *pipe) Request(ctx context.Context, in *rpc.Incoming) (rpc.Appender, error) {
	defer p.order.end(in.ID())
	err := p.awaitPeer(ctx)
	if err == nil {
		err = p.order.await(ctx, in.ID())
	}
	if err != nil {
		return nil, err
	}
	r := &request{id: in.ID(), method: in.Method, params: in.Params, line: channel{p, in.Exchange()}}
	var result json.RawMessage
	if c := p.current(); c != nil {
		result, err = c.serve(ctx, r)
	} else {
		result, err = serveUndecided(r)
	}
	if err != nil {
		return nil, err
	}
	if in.Method == mcp.MethodInitialize {
		version := text(result, "protocolVersion")
		p.peer.Agree(rpc.Terms{Version: version, AllowBatch: version == mcp.Version20250326})
	}
	return rpc.Raw(result), nil
}

// Notify takes a notification of the client. Cancellations have reached the peer already, and one
// that comes before the era is decided means nothing.
func (p *pipe) Notify(in *rpc.Incoming) {
	if p.awaitPeer(p.ctx) != nil {
		return
	}
	if c := p.current(); c != nil && in.Method != "" && in.Method != mcp.NotificationCancelled {
		c.hear(in.Method, append(json.RawMessage(nil), in.Params...))
	}
}

// Preempt takes cancellations in the order of arrival, and leaves the rest to Notify.
func (p *pipe) Preempt(method string, params []byte) {
	if method == mcp.NotificationCancelled {
		p.order.cancel(params)
	}
}

func (p *pipe) inputEnded() {
	if c := p.current(); c != nil {
		c.inputEnded()
	}
}

func (p *pipe) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.client != nil {
		p.client.leave()
	}
}

// channel is the line of a pipe, for what belongs to the requests of one exchange, or to none (0). A
// stream has no other exchange.
type channel struct {
	pipe     *pipe
	exchange uint32
}

func (c channel) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return c.pipe.peer.Call(ctx, rpc.Call{Method: method, Params: appender(params), Timeout: -1, About: c.exchange})
}

func (c channel) notify(ctx context.Context, method string, params json.RawMessage) error {
	return c.pipe.peer.NotifyAbout(ctx, c.exchange, method, appender(params))
}

// appender writes params; nil writes none.
func appender(params json.RawMessage) rpc.Appender {
	if params == nil {
		return nil
	}
	return rpc.Raw(params)
}
