package gateway

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// modernClient is a client that says its revision in every request. All its requests to a server
// go over one session, so a legacy server sees one client.
type modernClient struct {
	origin
	gateway    *Gateway
	channel    clientChannel // for what belongs to no request
	binding    string        // what a requestState of its parked calls is bound to
	serverName string        // the server that the requests reach
	ctx        context.Context
	cancel     context.CancelFunc
	calls      callTable
	logs       logs
	streams    listenStreams

	mu     sync.Mutex
	closed bool
	server *upstream
	failed error // of the newest server/discover

	offered json.RawMessage // the capabilities that a legacy server was told; set before server
}

func newModernClient(ctx context.Context, g *Gateway, channel clientChannel, o origin, serverName string) *modernClient {
	c := &modernClient{gateway: g, channel: channel, origin: o, binding: o.principal, serverName: serverName}
	if o.principal == streamPrincipal {
		c.binding = rand.Text() // the client of a stream shares its parked calls with no other
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.calls.client, c.logs.setting = c, ctxmutex.New()
	c.streams.changed, c.streams.ending = make(chan struct{}), make(chan struct{})
	return c
}

// connect returns the upstream of the client, and makes it for the first request. A legacy server
// is told the client that m, the _meta of the first request, describes. A modern server is told
// with every request.
func (c *modernClient) connect(m *modernMeta) (*upstream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, host.ErrClosed
	case c.server != nil:
		return c.server, nil
	}
	c.offered = bytes.Clone(m.capabilities) // so that the rest of the request can be freed
	server, _ := c.gateway.server(c.serverName)
	u, err := c.gateway.connect(c, c.origin, server, bytes.Clone(m.info), c.offered)
	c.server = u
	return u, err
}

// serve answers a request. A client may take an error of server/discover for a sign of a legacy server
// (2026-07-28/basic/versioning#backward-compatibility-with-initialization-based-versions): its initialize
// is then answered with that error, which says what is wrong.
func (c *modernClient) serve(ctx context.Context, r *request) (json.RawMessage, error) {
	result, err := c.answer(ctx, r)
	if r.method != mcp.MethodDiscover && r.method != mcp.MethodInitialize {
		return result, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.method == mcp.MethodDiscover {
		c.failed = err
	}
	return result, cmp.Or(c.failed, err)
}

func (c *modernClient) answer(ctx context.Context, r *request) (json.RawMessage, error) {
	m, refusal := readMeta(r.params)
	switch {
	case refusal != nil:
		return nil, refusal
	case slices.Contains(legacyOnly, r.method):
		return nil, methodNotFound(r.method, mcp.LatestModern)
	}
	if r.caller = c.gateway.caller(&c.origin, mcp.Modern, m.info); r.caller != nil && r.peer != "" {
		r.caller.Peer = r.peer
	}
	if err := c.gateway.checkReach(r.caller, c.serverName, r); err != nil {
		return nil, err
	}
	ctx = as(ctx, r.caller)
	u, err := c.connect(&m)
	if err != nil {
		return nil, c.gateway.clientError(err)
	}
	if r.method == mcp.MethodDiscover && u.serverInfo().Era == "" {
		r.turn.pass()
		return c.discover(ctx, u)
	}
	showsPages := member(m.capabilities, "elicitation", mcp.ElicitURL) != nil
	if mayAsk(r.method) && (showsPages || c.gateway.host.Confirms() || u.serverInfo().Era != mcp.Modern) {
		return c.calls.serve(ctx, u, r, &m)
	}
	era, err := u.era(ctx)
	switch {
	case err != nil:
		return nil, c.gateway.clientError(err)
	case r.method == mcp.MethodListen:
		return c.listen(ctx, u, r)
	case era == mcp.Legacy:
		return c.serveByLegacy(ctx, u, r, &m)
	}
	result, err := c.relayModern(ctx, u, r, host.Relay{
		Params: r.params, ClientInfo: m.info, ClientCapabilities: m.capabilities, Progress: progress(ctx, r.channel, m.token),
	})
	if err != nil {
		return nil, c.gateway.clientError(err)
	}
	if r.method == mcp.MethodDiscover {
		return withSpokenVersions(result), nil
	}
	return result, nil
}

// relayModern passes a request on to a modern server. The server tells by the account whose a requestState
// is, and sees all principals of a gateway as one account. So a principal with a name gets the state
// sealed, and no other principal can use it. The user who runs the program gets it byte for byte.
func (c *modernClient) relayModern(ctx context.Context, u *upstream, r *request, out host.Relay) (json.RawMessage, error) {
	if isOwner(c.principal) {
		return u.relay(ctx, r, out)
	}
	binding := bindingOf(c.principal, c.serverName, "", nil)
	if sealed := member(out.Params, memberState); sealed != nil {
		own, err := c.gateway.sealer.open(serverVersion, unquote(sealed), binding[:])
		if err != nil {
			return nil, invalidParams("%v", err)
		}
		out.Params = edit(out.Params, change{memberState, own})
	}
	result, err := u.relay(ctx, r, out)
	if err != nil {
		return nil, err
	}
	if own := member(result, memberState); own != nil {
		result = edit(result, change{memberState, quote(c.gateway.sealer.close(serverVersion, own, binding[:]))})
	}
	return result, nil
}

// discover returns the server's DiscoverResult, and starts the server. It waits for the server only if
// nothing is known from an earlier run.
func (c *modernClient) discover(ctx context.Context, u *upstream) (json.RawMessage, error) {
	info, err := u.about(ctx)
	switch {
	case err != nil:
		return nil, c.gateway.clientError(err)
	case info.Era == mcp.Legacy:
		return discoverResult(info.Raw), nil
	}
	return withSpokenVersions(info.Raw), nil
}

// withSpokenVersions returns a DiscoverResult without the revisions that the gateway does not speak.
func withSpokenVersions(discovered json.RawMessage) json.RawMessage {
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

// serveByLegacy passes a request to a legacy server, and returns the result in the modern form. It
// answers server/discover itself, and refuses methods that the legacy era lacks.
func (c *modernClient) serveByLegacy(ctx context.Context, u *upstream, r *request, m *modernMeta) (json.RawMessage, error) {
	switch {
	case r.method == mcp.MethodDiscover:
		return discoverResult(u.serverInfo().Raw), nil
	case r.method == mcp.MethodUpdateTask || slices.Contains(taskMethods, r.method):
		return nil, methodNotFound(r.method, u.serverInfo().Protocol)
	}
	defer c.logs.begin(ctx, u, &logListener{func() (clientChannel, int) { return r.channel, m.wantedLevels() }})()
	result, err := u.relay(ctx, r, host.Relay{Params: legacyParams(r.params), Progress: progress(ctx, r.channel, m.token)})
	if err != nil {
		return nil, c.gateway.eraError(err, r.method, mcp.Legacy, mcp.Modern)
	}
	return toModernResult(r.method, result), nil
}

// legacyParams returns params without the members that only the modern era has.
func legacyParams(params json.RawMessage) json.RawMessage {
	params = editMeta(params, change{mcp.MetaProtocolVersion, nil}, change{mcp.MetaClientInfo, nil},
		change{mcp.MetaClientCapabilities, nil}, change{mcp.MetaLogLevel, nil})
	return edit(params, change{memberResponses, nil}, change{memberState, nil})
}

func (c *modernClient) era() mcp.Era { return mcp.Modern }

// onRequest asks the client the question of a legacy server, in the result of one of its calls.
func (c *modernClient) onRequest(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return c.calls.ask(ctx, nil, method, params)
}

// hear passes a notification of the client on to its server. It drops one that only the legacy era
// has.
func (c *modernClient) hear(method string, params json.RawMessage) {
	c.mu.Lock()
	u := c.server
	c.mu.Unlock()
	if u != nil && !slices.Contains(legacyOnly, method) {
		u.notify(c.ctx, method, params)
	}
}

// onNotification passes a notification of the server on to the client. One of a stream goes out with
// the id of that stream. A log message of a legacy server goes to the requests that want it.
// Progress is dropped here, because it goes to the channel of its call.
func (c *modernClient) onNotification(u *upstream, e host.Event) {
	legacy := u.serverInfo().Era == mcp.Legacy
	switch {
	case slices.Contains(ownNotifications, e.Method):
	case e.Subscription != "":
		c.streams.tell(c.ctx, e)
	case legacy && e.Method == mcp.NotificationMessage:
		c.logs.tell(c.ctx, e.Params)
	case !legacy:
		c.channel.notify(c.ctx, e.Method, e.Params)
	}
}

// ownNotifications are about messages between the host and the server, and are not passed on.
var ownNotifications = []string{mcp.NotificationProgress, mcp.NotificationCancelled, mcp.NotificationAcknowledged}

// legacyHandshake returns nil: a modern client has no handshake.
func (c *modernClient) legacyHandshake() *handshake { return nil }

func (c *modernClient) inputEnded() { c.streams.end() }

func (c *modernClient) leave() {
	c.cancel()
	c.mu.Lock()
	c.closed = true
	u := c.server
	c.mu.Unlock()
	if u != nil {
		u.close()
	}
	c.calls.close()
}
