package gateway

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// clientChannel sends messages to a client. Its methods wait while the client reads nothing, until
// ctx ends.
type clientChannel interface {
	// ask sends a request to the client and returns its result. An error of the client is an
	// [*rpc.Error].
	ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

	// notify sends a notification. What is sent before the answer to a request arrives before it.
	notify(ctx context.Context, method string, params json.RawMessage) error
}

// request is a request of a client.
type request struct {
	id      json.RawMessage
	method  string
	params  json.RawMessage
	channel clientChannel // for what belongs to the request

	// turn is the place of the request among the messages to its server. A client passes it at
	// once if it does not forward the request as one message.
	turn *turn

	// header returns the text of a header of a modern request over HTTP, named in lower case, and
	// whether it is there; nil for other requests.
	header func(name string) (text string, there bool)

	// caller is who sends it; nil if that does not matter, or if the upstream knows.
	caller *policy.Caller

	from *presence // the client that sends it

	peer string // the address that a modern request over HTTP comes from

	// retain keeps the client of the request in use beyond the request, until release is called; nil
	// for a client that is not kept between its requests.
	retain func() (release func())
}

// client is a client of one era. It does not know how its messages travel.
type client interface {
	// serve answers a request. It is called for each on a goroutine of its own. Its error is an
	// [*rpc.Error], or the cause of ctx.
	serve(ctx context.Context, r *request) (json.RawMessage, error)

	// hear takes a notification of the client. Calls come one after the other, in the order of
	// arrival.
	hear(method string, params json.RawMessage)

	// legacyHandshake returns the handshake of a legacy client, and nil for a modern one.
	legacyHandshake() *handshake

	// inputEnded says that the client asks for nothing more.
	inputEnded()

	// leave ends the client's requests and subscriptions, and gives up its sessions.
	leave()

	// sees returns how a caller, which is the client, sees a list now, and whether that is known.
	sees(c *policy.Caller, l *listing) (m mark, known bool)

	// tellChanged tells the client that a list has changed. It waits while the client reads nothing.
	tellChanged(l *listing)
}

// newClient returns a client of an era. serverName names the server that the client reaches bare. If it is
// "", the client reaches all servers as one.
func (g *Gateway) newClient(ctx context.Context, era mcp.Era, channel clientChannel, o origin, serverName string) client {
	switch {
	case serverName == "":
		return newAggregate(ctx, g, era, channel, o)
	case era == mcp.Legacy:
		return newLegacyClient(ctx, g, channel, o, serverName)
	}
	return newModernClient(ctx, g, channel, o, serverName)
}

// clientConn is a client with a peer of its own: one on a stream, or a session over HTTP. Its first
// request that is served decides its era.
type clientConn struct {
	origin
	ctx        context.Context // ends with ServeConn
	gateway    *Gateway
	serverName string    // the server that the client reaches bare; "" for all servers as one
	peer       *rpc.Peer // set before the first message of the client comes

	cancellations cancellationOrder
	turns         turns // the order of its requests and notifications

	mu       sync.Mutex
	client   client    // nil while the era is open
	presence *presence // of the client
	left     bool      // no client is made any more
}

func newClientConn(ctx context.Context, g *Gateway, o origin, serverName string) *clientConn {
	return &clientConn{ctx: ctx, gateway: g, origin: o, serverName: serverName}
}

// current returns the client, or nil while its era is open.
func (c *clientConn) current() client {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

// Admit takes a request in the order of arrival. The first request that names an era decides the era
// of the client.
func (c *clientConn) Admit(in *rpc.Incoming) {
	c.cancellations.admit(in.ID())
	c.turns.take(in.Arrival())
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == nil && !c.left {
		if era := eraOf(in.Method, in.Params); era != "" {
			c.gateway.counts.addClient(era)
			c.client = c.gateway.newClient(c.ctx, era, peerChannel{conn: c}, c.origin, c.serverName)
			c.presence = c.gateway.arrive(c.client, &c.origin, era, infoOf(era, in.Params), c.serverName)
		}
	}
	if c.client != nil && c.client.legacyHandshake() != nil && in.Method == mcp.MethodInitialize {
		c.client.legacyHandshake().arrived(in.ID())
	}
}

// handshake returns the handshake that an initialize belongs to, or nil for another request.
func (c *clientConn) handshake(in *rpc.Incoming) *handshake {
	if client := c.current(); client != nil && in.Method == mcp.MethodInitialize {
		return client.legacyHandshake()
	}
	return nil
}

// Over notes that a request is answered. After an initialize it lets the messages go that wait for
// the answer.
func (c *clientConn) Over(in *rpc.Incoming, _ bool) {
	if h := c.handshake(in); h != nil {
		if open, _ := h.agreed(); open {
			h.finished(in.ID())
		}
	}
}

// Request answers a request of the client.
func (c *clientConn) Request(ctx context.Context, in *rpc.Incoming) (rpc.Appender, error) {
	defer c.cancellations.end(in.ID())
	t := c.turns.of(in.Arrival())
	defer t.pass()
	if err := c.cancellations.await(ctx, in.ID()); err != nil {
		return nil, err
	}
	if isWithoutBrowser(c.ctx) {
		ctx = WithoutBrowser(ctx)
	}
	t.heard = func(ctx context.Context) { c.peer.AwaitHeardBefore(ctx, in.Arrival()) }
	r := &request{id: in.ID(), method: in.Method, params: in.Params, channel: peerChannel{c, in.Exchange()}, turn: t}
	var result json.RawMessage
	var err error
	if client := c.current(); client != nil {
		r.from = c.presence // is not changed any more
		result, err = c.gateway.serve(ctx, c.serverName, client, r)
	} else {
		result, err = serveUndecided(r)
	}
	if err != nil {
		if h := c.handshake(in); h != nil {
			h.finished(in.ID()) // before the error is sent: the client may then send another initialize
		}
		if c.kind == policy.Command {
			err = ownError(err)
		}
		return nil, err
	}
	if in.Method == mcp.MethodInitialize {
		version := text(result, "protocolVersion")
		c.peer.Agree(rpc.Terms{Version: version, AllowBatch: version == mcp.Version20250326})
	}
	return rpc.Raw(result), nil
}

// Notify takes a notification of the client. It does nothing for a cancellation, which has
// reached the peer already, and drops what comes before the era is decided.
func (c *clientConn) Notify(in *rpc.Incoming) {
	if client := c.current(); client != nil && in.Method != "" && in.Method != mcp.NotificationCancelled {
		t := c.turns.take(in.Arrival())
		defer t.pass()
		if t.await(c.ctx) != nil {
			return
		}
		client.hear(in.Method, append(json.RawMessage(nil), in.Params...))
	}
}

// Preempt takes cancellations in the order of arrival, and leaves the rest to Notify.
func (c *clientConn) Preempt(method string, params []byte) {
	if method == mcp.NotificationCancelled {
		c.cancellations.cancel(params)
	}
}

func (c *clientConn) inputEnded() {
	if client := c.current(); client != nil {
		client.inputEnded()
	}
}

// leave ends the client's requests and subscriptions. It waits until the client has given up its
// sessions.
func (c *clientConn) leave() {
	c.mu.Lock()
	c.left = true
	client := c.client
	c.mu.Unlock()
	if client != nil {
		client.leave()
		c.presence.leave()
	}
}

// peerChannel sends messages to the client of a connection. They belong to the requests of one
// exchange. With exchange 0 they belong to no request. On a stream, all messages have exchange 0.
type peerChannel struct {
	conn     *clientConn
	exchange uint32
}

func (c peerChannel) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	answer, err := c.conn.peer.Call(ctx, &rpc.Call{Method: method, Timeout: -1, About: c.exchange}, appender(params))
	if meta(params, mcp.MetaProgressToken) != nil {
		c.conn.peer.AwaitHeard(ctx) // so that the progress before the answer reaches the server first
	}
	return answer, err
}

func (c peerChannel) notify(ctx context.Context, method string, params json.RawMessage) error {
	return c.conn.peer.NotifyAbout(ctx, c.exchange, method, appender(params))
}

// appender returns an appender that appends params, or nil for nil params.
func appender(params json.RawMessage) rpc.Appender {
	if params == nil {
		return nil
	}
	return rpc.Raw(params)
}
