package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// modernClient is a client that says its revision in every request. All its requests to a server
// go over one session: a legacy server takes it for one client.
type modernClient struct {
	gateway   *Gateway
	line      line   // for what belongs to no request
	principal string // whose the requests are
	only      string // the name of the server that they reach
	ctx       context.Context
	cancel    context.CancelFunc
	desk      desk
	logs      logs
	streams   streams

	mu     sync.Mutex
	closed bool
	server *upstream

	offered json.RawMessage // the capabilities that a legacy server was told of; set before server is
}

func newModernClient(ctx context.Context, g *Gateway, l line, principal, only string) *modernClient {
	c := &modernClient{gateway: g, line: l, principal: principal, only: only}
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.desk.client = c
	c.streams.changed, c.streams.ending = make(chan struct{}), make(chan struct{})
	return c
}

// connect returns the session with the server. The request that needs it first says of which client
// a legacy server is told; a modern one is told with every request.
func (c *modernClient) connect(m *modernMeta) (*upstream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, host.ErrClosed
	case c.server != nil:
		return c.server, nil
	}
	c.offered = m.capabilities
	server, _ := c.gateway.server(c.only)
	u, err := c.gateway.connect(c, server, m.info, m.capabilities)
	c.server = u
	return u, err
}

func (c *modernClient) serve(ctx context.Context, r *request) (json.RawMessage, error) {
	m, refusal := readMeta(r.params)
	switch {
	case refusal != nil:
		return nil, refusal
	case slices.Contains(legacyOnly, r.method):
		return nil, noMethod(r.method, mcp.LatestModern)
	}
	u, err := c.connect(&m)
	if err != nil {
		return nil, c.gateway.fault(err)
	}
	if r.method == mcp.MethodDiscover && u.session.Info().Era == "" {
		return c.discover(ctx, u)
	}
	showsPages := member(m.capabilities, "elicitation", mcp.ElicitURL) != nil
	if carries(r.method) && (showsPages || u.session.Info().Era != mcp.Modern) {
		return c.desk.serve(ctx, u, r, &m)
	}
	era, err := u.era(ctx)
	switch {
	case err != nil:
		return nil, c.gateway.fault(err)
	case r.method == mcp.MethodListen:
		return c.listen(ctx, u, r)
	case era == mcp.Legacy:
		return c.serveByLegacy(ctx, u, r, &m)
	}
	result, err := u.relay(ctx, r, host.Relay{
		Params: r.params, ClientInfo: m.info, ClientCapabilities: m.capabilities, Progress: progress(ctx, r.line, m.token),
	})
	if err != nil {
		return nil, c.gateway.fault(err)
	}
	if r.method == mcp.MethodDiscover {
		return known(result), nil
	}
	return result, nil
}

// discover returns what is known of a server that is not connected yet, and connects it.
func (c *modernClient) discover(ctx context.Context, u *upstream) (json.RawMessage, error) {
	info, err := u.info(ctx)
	switch {
	case err != nil:
		return nil, c.gateway.fault(err)
	case info.Era == mcp.Legacy:
		return discoverResult(info.Raw), nil
	}
	return known(info.Raw), nil
}

// known returns a DiscoverResult without the revisions that the gateway does not speak.
func known(discovered json.RawMessage) json.RawMessage {
	versions, foreign := []byte{'['}, false
	r := strictjson.Read(member(discovered, "supportedVersions"))
	if r.Kind() != '[' {
		return discovered
	}
	for range r.Array() {
		raw := r.Raw()
		if raw[0] != '"' || mcp.EraOf(string(strictjson.Unquote(raw))) == "" {
			foreign = true
			continue
		}
		if len(versions) > 1 {
			versions = append(versions, ',')
		}
		versions = append(versions, raw...)
	}
	if !foreign {
		return discovered
	}
	return edit(discovered, change{"supportedVersions", append(versions, ']')})
}

// serveByLegacy answers a request that a legacy server has to answer.
func (c *modernClient) serveByLegacy(ctx context.Context, u *upstream, r *request, m *modernMeta) (json.RawMessage, error) {
	switch {
	case r.method == mcp.MethodDiscover:
		return discoverResult(u.session.Info().Raw), nil
	case r.method == mcp.MethodUpdateTask || slices.Contains(taskMethods, r.method):
		return nil, noMethod(r.method, u.session.Info().Protocol)
	}
	defer c.logs.begin(ctx, u, r, m.level)()
	result, err := u.relay(ctx, r, host.Relay{Params: legacyParams(r.params), Progress: progress(ctx, r.line, m.token)})
	if err != nil {
		return nil, c.gateway.refusal(err, r.method, mcp.Legacy, mcp.Modern)
	}
	return complete(r.method, result), nil
}

// legacyParams returns params without what only the modern era has.
func legacyParams(params json.RawMessage) json.RawMessage {
	params = editMeta(params, change{mcp.MetaProtocolVersion, nil}, change{mcp.MetaClientInfo, nil},
		change{mcp.MetaClientCapabilities, nil}, change{mcp.MetaLogLevel, nil})
	return edit(params, change{memberResponses, nil}, change{memberState, nil})
}

// asked has a request of a legacy server answered by the client, within the result of a call.
func (c *modernClient) asked(ctx context.Context, _ *upstream, method string, params json.RawMessage) (json.RawMessage, error) {
	return c.desk.ask(ctx, nil, method, params)
}

// hear passes a notification of the client on, unless the server's era does not know it.
func (c *modernClient) hear(method string, params json.RawMessage) {
	c.mu.Lock()
	u := c.server
	c.mu.Unlock()
	if u != nil && !slices.Contains(legacyOnly, method) {
		u.notify(c.ctx, method, params)
	}
}

// told passes a notification of the server on to the client: one of a stream under the id of that
// stream, and a log message of a legacy server if a request under way wants it. Progress has gone to
// the line of its call.
func (c *modernClient) told(u *upstream, e host.Event) {
	legacy := u.session.Info().Era == mcp.Legacy
	switch {
	case slices.Contains(ownNotifications, e.Method):
	case e.Subscription != "":
		c.streams.tell(c.ctx, e)
	case legacy && e.Method == mcp.NotificationMessage:
		c.logs.tell(c.ctx, e.Params)
	case !legacy:
		c.line.notify(c.ctx, e.Method, e.Params)
	}
}

// ownNotifications are about messages between the host and the server.
var ownNotifications = []string{mcp.NotificationProgress, mcp.NotificationCancelled, mcp.NotificationAcknowledged}

// handshake returns nil: a modern client has none.
func (c *modernClient) handshake() *handshake { return nil }

func (c *modernClient) inputEnded() { c.streams.end() }

func (c *modernClient) leave() {
	c.cancel()
	c.mu.Lock()
	c.closed = true
	u := c.server
	c.mu.Unlock()
	if u != nil {
		u.session.Close()
	}
	c.desk.close()
}
