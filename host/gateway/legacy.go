package gateway

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// legacyClient is a client that begins with initialize.
type legacyClient struct {
	origin
	gateway       *Gateway
	channel       clientChannel // for what belongs to no request
	serverName    string        // the name of the server that it reaches
	ctx           context.Context
	cancel        context.CancelFunc
	subscriptions legacySubscriptions
	handshake     *handshake

	mu           sync.Mutex
	capabilities json.RawMessage // of the client
	server       *upstream
}

func newLegacyClient(ctx context.Context, g *Gateway, channel clientChannel, o origin, serverName string) *legacyClient {
	c := &legacyClient{gateway: g, channel: channel, origin: o, serverName: serverName, handshake: newHandshake()}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

func (c *legacyClient) legacyHandshake() *handshake { return c.handshake }

func (c *legacyClient) serve(ctx context.Context, r *request) (json.RawMessage, error) {
	switch r.method {
	case mcp.MethodPing:
		return empty, nil
	case mcp.MethodInitialize:
		return c.initialize(ctx, r)
	}
	u, err := c.awaitUpstream(ctx, r.method)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	capabilities := c.capabilities
	c.mu.Unlock()
	ctx = withAsker(ctx, capabilities, func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		return c.ask(ctx, r.channel, method, params)
	})
	switch r.method {
	case mcp.MethodSetLevel, mcp.MethodSubscribe, mcp.MethodUnsubscribe:
		if err := r.turn.await(ctx); err != nil {
			return nil, err
		}
		r.turn.pass() // for this request, the session sends more than one message, or none
	}
	switch r.method {
	case mcp.MethodSetLevel:
		return c.setLevel(ctx, u, r)
	case mcp.MethodSubscribe:
		return c.subscribe(ctx, u, r)
	case mcp.MethodUnsubscribe:
		c.subscriptions.end(text(r.params, "uri"))
		return empty, nil
	}
	if slices.Contains(modernOnly, r.method) {
		_, version := c.handshake.agreed()
		return nil, methodNotFound(r.method, version)
	}
	return c.relay(ctx, u, r)
}

// awaitUpstream returns the session with the server, for a message that comes after initialize. It waits
// for an initialize that is under way.
func (c *legacyClient) awaitUpstream(ctx context.Context, method string) (*upstream, error) {
	if err := c.handshake.await(ctx, method); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server, nil
}

// awaitResultSent waits until the result of initialize is on its way: before that the client expects
// nothing else.
func (c *legacyClient) awaitResultSent(ctx context.Context) error {
	return c.handshake.awaitResultSent(ctx, c.ctx)
}

// initialize opens the session (2025-11-25/basic/lifecycle#initialization).
func (c *legacyClient) initialize(ctx context.Context, r *request) (json.RawMessage, error) {
	if err := c.handshake.check(r.id); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.capabilities = member(r.params, "capabilities")
	c.mu.Unlock()
	u, result, err := c.connect(ctx, r.params)
	if err != nil {
		return nil, c.gateway.clientError(err)
	}
	c.watchLists(ctx, u)
	c.mu.Lock()
	c.server = u
	left := c.ctx.Err() != nil
	c.mu.Unlock()
	c.handshake.succeed(text(result, "protocolVersion"))
	if left {
		u.close() // leave did not see it
	}
	return result, nil
}

// connect makes an upstream for a client whose initialize has these params, and returns the
// result of initialize. On an error there is no upstream.
func (c *legacyClient) connect(ctx context.Context, params json.RawMessage) (u *upstream, result json.RawMessage, err error) {
	if err := checkInitialize(params); err != nil {
		return nil, nil, err
	}
	info, capabilities := member(params, "clientInfo"), member(params, "capabilities")
	if err := c.gateway.checkReach(c.gateway.caller(&c.origin, mcp.Legacy, info), c.serverName, &request{method: mcp.MethodInitialize}); err != nil {
		return nil, nil, err
	}
	server, _ := c.gateway.server(c.serverName)
	if u, err = c.gateway.connect(c, c.origin, server, info, capabilities); err != nil {
		return nil, nil, err
	}
	if result, err = c.initializeResultOf(ctx, u, text(params, "protocolVersion")); err != nil {
		u.close()
	}
	return u, result, err
}

// checkInitialize returns an error for params of initialize that lack the revision, or have a member of
// the wrong type.
func checkInitialize(params json.RawMessage) error {
	info, capabilities := member(params, "clientInfo"), member(params, "capabilities")
	switch {
	case text(params, "protocolVersion") == "":
		return invalidParams("initialize: params.protocolVersion is not a string")
	case capabilities != nil && !isObject(capabilities), info != nil && !isObject(info):
		return invalidParams("initialize: params.capabilities or params.clientInfo is not an object")
	}
	return nil
}

// initializeResultOf returns the result of initialize for a client that asked for a revision. It
// starts the server. It waits for the server only if nothing is known from an earlier run.
func (c *legacyClient) initializeResultOf(ctx context.Context, u *upstream, asked string) (json.RawMessage, error) {
	info, err := u.about(ctx)
	if err != nil {
		return nil, err
	}
	version := quote(negotiateVersion(asked, info.Protocol))
	switch {
	case info.Era == mcp.Modern:
		return initializeResult(info.Raw, u.server.Name, version), nil
	case bytes.Equal(member(info.Raw, "protocolVersion"), version):
		return info.Raw, nil
	}
	return edit(info.Raw, change{"protocolVersion", version}), nil
}

// relay passes a request on to the server.
func (c *legacyClient) relay(ctx context.Context, u *upstream, r *request) (json.RawMessage, error) {
	era, err := u.era(ctx)
	if err != nil {
		return nil, c.gateway.clientError(err)
	}
	if era == mcp.Modern && (slices.Contains(taskMethods, r.method) || slices.Contains(legacyOnly, r.method)) {
		return nil, methodNotFound(r.method, mcp.LatestModern)
	}
	result, err := u.relay(ctx, r, host.Relay{
		Params: r.params, Fulfil: era == mcp.Modern, Progress: progress(ctx, r.channel, meta(r.params, mcp.MetaProgressToken)),
	})
	if err != nil {
		return nil, c.gateway.eraError(err, r.method, era, mcp.Legacy)
	}
	c.watchLists(ctx, u) // tries again if that has failed before
	return result, nil
}

func (c *legacyClient) setLevel(ctx context.Context, u *upstream, r *request) (json.RawMessage, error) {
	level, err := readLevel(r.params)
	if err != nil {
		return nil, err
	}
	if err := u.setLevel(ctx, level); err != nil {
		return nil, c.gateway.clientError(err)
	}
	return empty, nil
}

func (c *legacyClient) era() mcp.Era { return mcp.Legacy }

// onRequest passes a request of the server on to the client.
func (c *legacyClient) onRequest(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return c.ask(ctx, c.channel, method, params)
}

// ask sends a request to the client over one of its channels, and returns the answer. It returns an
// error if the client does not offer to answer such requests.
func (c *legacyClient) ask(ctx context.Context, over clientChannel, method string, params json.RawMessage) (json.RawMessage, error) {
	c.mu.Lock()
	capabilities := c.capabilities
	c.mu.Unlock()
	if err := checkOffered(capabilities, method, params); err != nil {
		return nil, err
	}
	if err := c.awaitResultSent(ctx); err != nil {
		return nil, err
	}
	return over.ask(ctx, method, withElicitationID(method, params))
}

// withElicitationID returns params of a request to the client in which an elicitation of a page has an
// id, which only the legacy era wants.
func withElicitationID(method string, params json.RawMessage) json.RawMessage {
	if method == mcp.MethodElicit && text(params, "mode") == mcp.ElicitURL && member(params, memberElicitation) == nil {
		return edit(params, change{memberElicitation, quote(rand.Text())})
	}
	return params
}

// hear passes a notification of the client on to the server. It drops one that is about the
// client's own connection, or that the server's era does not have.
func (c *legacyClient) hear(method string, params json.RawMessage) {
	u, err := c.awaitUpstream(c.ctx, method)
	if err != nil || method == mcp.NotificationInitialized {
		return
	}
	if era, err := u.era(c.ctx); err != nil || era == mcp.Modern && slices.Contains(legacyOnly, method) {
		return
	}
	u.notify(c.ctx, method, params)
}

// onNotification passes a notification of the server on to the client. It drops three kinds that
// reach the client in another way: progress, which goes to the channel of its call; the cancellation
// of a question, which ends the question's context; and changes that a modern server reports, which
// follow passes on.
func (c *legacyClient) onNotification(u *upstream, e host.Event) {
	if slices.Contains(ownNotifications, e.Method) || e.Subscription != "" || c.awaitResultSent(c.ctx) != nil {
		return
	}
	c.channel.notify(c.ctx, e.Method, e.Params)
}

func (c *legacyClient) inputEnded() {}

func (c *legacyClient) leave() {
	c.cancel()
	c.mu.Lock()
	u := c.server
	c.mu.Unlock()
	if u != nil {
		u.close()
	}
	c.subscriptions.close()
}

// watchLists begins to tell the client of changed lists: of a modern server's, and of any server's
// after a reconnect. It does nothing if that has begun already. For a legacy server it has begun when
// watchLists returns, because nothing has to be sent to the server.
func (c *legacyClient) watchLists(ctx context.Context, u *upstream) {
	settled := make(chan struct{})
	begun := c.subscriptions.begin(func() error {
		s, err := u.subscribe(c.ctx, mcp.Filter{Tools: true, Prompts: true, Resources: true})
		close(settled)
		if err == nil {
			c.follow(u, s)
		}
		return err
	})
	if begun && u.serverInfo().Era == mcp.Legacy {
		select {
		case <-settled:
		case <-ctx.Done():
		}
	}
}

// subscribe answers resources/subscribe. From then on the client is told of changes of the resource,
// until it unsubscribes.
func (c *legacyClient) subscribe(ctx context.Context, u *upstream, r *request) (json.RawMessage, error) {
	uri := text(r.params, "uri")
	if uri == "" {
		return nil, invalidParams("resources/subscribe: params.uri is not a string, or empty")
	}
	s, err := u.subscribe(ctx, mcp.Filter{URIs: []string{uri}})
	if err != nil {
		return nil, c.gateway.eraError(err, mcp.MethodReadResource, u.serverInfo().Era, mcp.Legacy)
	}
	if err := c.subscriptions.add(uri, s, func() { c.follow(u, s) }); err != nil {
		return nil, err
	}
	return empty, nil
}

// follow tells the client of the changes of a subscription, until the subscription ends. For a
// legacy server it tells only of changes that were missed: onNotification passes on the others.
func (c *legacyClient) follow(u *upstream, s *subscription) {
	for {
		changed, err := s.Next(c.ctx)
		if err != nil {
			return
		}
		if changed.Kind != mcp.Missed && u.serverInfo().Era == mcp.Legacy || c.awaitResultSent(c.ctx) != nil {
			continue
		}
		for _, n := range notifications(changed, s.Honoured()) {
			c.channel.notify(c.ctx, n.method, n.params)
		}
	}
}
