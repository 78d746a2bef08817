package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// aggregate is a client that reaches all servers as one. Behind it there is a backend for each server
// that it uses: a client of the same era that reaches that server bare. So an aggregate translates
// names, and all else is as for a client of one server.
type aggregate struct {
	gateway   *Gateway
	era       mcp.Era
	channel   clientChannel // for what belongs to no request
	principal string        // whose the requests are
	ctx       context.Context
	cancel    context.CancelFunc
	handshake *handshake // nil for a modern client
	running   sync.WaitGroup

	mu               sync.Mutex
	closed           bool
	initializeParams json.RawMessage // the params of initialize
	level            json.RawMessage // those of the newest logging/setLevel; nil without one
	backends         map[string]*backend
	turns            map[string]*turns // of the requests to each server
	fetches          map[listKey]*listFetch
	listedKinds      map[catalogue.Kind]bool     // the lists that the client has asked for
	lastListed       map[listKey]json.RawMessage // what these had of each server when the client was last told of them
	streams          []*aggregateStream
	inputDone        chan struct{} // closed when the client asks for nothing more
}

// backend is what a client of the aggregate has of one server.
type backend struct {
	aggregate *aggregate
	server    host.Server
	params    json.RawMessage // of the request that needed it first
	ready     chan struct{}   // closed when the fields below are set

	client  client
	session *host.Session
	err     error
}

func newAggregate(ctx context.Context, g *Gateway, era mcp.Era, channel clientChannel, principal string) *aggregate {
	a := &aggregate{
		gateway: g, era: era, channel: channel, principal: principal, inputDone: make(chan struct{}),
		backends: make(map[string]*backend), turns: make(map[string]*turns), fetches: make(map[listKey]*listFetch), lastListed: make(map[listKey]json.RawMessage), listedKinds: make(map[catalogue.Kind]bool),
	}
	a.ctx, a.cancel = context.WithCancel(ctx)
	if era == mcp.Legacy {
		a.handshake = newHandshake()
	}
	return a
}

func (a *aggregate) legacyHandshake() *handshake { return a.handshake }

func (a *aggregate) serve(ctx context.Context, r *request) (json.RawMessage, error) {
	switch {
	case a.era == mcp.Modern:
		if _, refusal := readMeta(r.params); refusal != nil {
			return nil, refusal
		}
	case r.method == mcp.MethodPing:
		return empty, nil
	case r.method == mcp.MethodInitialize:
		return a.initialize(r)
	default:
		if err := a.handshake.await(ctx, r.method); err != nil {
			return nil, err
		}
	}
	if foreign := map[mcp.Era][]string{mcp.Legacy: modernOnly, mcp.Modern: legacyOnly}[a.era]; slices.Contains(foreign, r.method) {
		return nil, methodNotFound(r.method, a.revision())
	}
	for i := range listings {
		if listings[i].method == r.method {
			r.turn.pass()
			return a.list(ctx, r, &listings[i])
		}
	}
	switch r.method {
	case mcp.MethodDiscover:
		return a.discover(), nil
	case mcp.MethodListen:
		r.turn.pass()
		return a.listen(ctx, r)
	case mcp.MethodSetLevel:
		r.turn.pass()
		return a.setLevel(ctx, r)
	case mcp.MethodListTasks:
		r.turn.pass()
		return a.listTasks(ctx, r)
	}
	return a.forward(ctx, r)
}

// revision returns the newest revision of the client's era.
func (a *aggregate) revision() string {
	if a.era == mcp.Modern {
		return mcp.LatestModern
	}
	return mcp.LatestLegacy
}

// forward has the server that a request is about answer it. Requests to one server keep their order,
// and wait for no request to another.
func (a *aggregate) forward(ctx context.Context, r *request) (json.RawMessage, error) {
	if err := r.turn.await(ctx); err != nil {
		return nil, err
	}
	server, params, err := a.routeRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	own := *r
	own.params, own.turn = params, a.turn(server, r.turn)
	defer own.turn.pass()
	r.turn.pass()
	b, err := a.backend(ctx, server, r.params)
	if err != nil {
		return nil, err
	}
	result, err := b.client.serve(ctx, &own)
	if err != nil {
		return nil, err
	}
	return b.renameResult(r.method, result), nil
}

// turn returns the place of a request among those to a server, for the place that it has among all.
func (a *aggregate) turn(server string, t *turn) *turn {
	if t == nil {
		return nil
	}
	a.mu.Lock()
	if a.turns[server] == nil {
		a.turns[server] = &turns{}
	}
	q := a.turns[server]
	a.mu.Unlock()
	return q.take(t.arrival)
}

// routeRequest returns the name of the server that a request is about, and the params in the server's own
// words.
func (a *aggregate) routeRequest(ctx context.Context, r *request) (server string, params json.RawMessage, err error) {
	switch r.method {
	case mcp.MethodCallTool, mcp.MethodGetPrompt:
		kind := catalogue.Tools
		if r.method == mcp.MethodGetPrompt {
			kind = catalogue.Prompts
		}
		server, own, err := a.ownName(ctx, r, kind, text(r.params, "name"))
		return server, edit(r.params, change{"name", quote(own)}), err
	case mcp.MethodReadResource, mcp.MethodSubscribe, mcp.MethodUnsubscribe:
		server, own, err := a.ownURI(text(r.params, "uri"))
		return server, edit(r.params, change{"uri", quote(own)}), err
	case mcp.MethodComplete:
		ref := member(r.params, "ref")
		name, own := "uri", ""
		if text(ref, "type") == "ref/prompt" {
			name = "name"
			server, own, err = a.ownName(ctx, r, catalogue.Prompts, text(ref, name))
		} else {
			server, own, err = a.ownURI(text(ref, name))
		}
		return server, edit(r.params, change{"ref", edit(ref, change{name, quote(own)})}), err
	case mcp.MethodGetTask, mcp.MethodCancelTask, mcp.MethodTaskResult, mcp.MethodUpdateTask:
		server, own, ok := ownTaskID(text(r.params, "taskId"))
		if _, found := a.gateway.server(server); !ok || !found {
			return "", nil, invalidParams("%s: params.taskId is not the id of a task of this server", r.method)
		}
		return server, edit(r.params, change{"taskId", quote(own)}), nil
	}
	return "", nil, &rpc.Error{Code: mcp.CodeMethodNotFound, Message: "Method not found: " + r.method}
}

// ownName returns whose a tool or a prompt is, and what its server calls it. A server whose list is
// not known is asked for it only if the name may be of that list.
func (a *aggregate) ownName(ctx context.Context, r *request, kind catalogue.Kind, name string) (server, own string, err error) {
	if server, own, ok := splitName(name); ok {
		if _, found := a.gateway.server(server); found {
			return server, own, nil
		}
	}
	l := listingOf(kind)
	for _, s := range a.gateway.config.Servers {
		if !strings.HasPrefix(name, hashedPrefix(s.Name)) {
			continue
		}
		if a.lacksList(s.Name, l) {
			r.turn.pass() // requests to other servers do not wait for this one's list
			if err := a.fetchList(s.Name, l, r.params).await(ctx); err != nil {
				return "", "", err
			}
		}
		if own, ok := a.gateway.renamedList(s.Name, l).own[name]; ok {
			return s.Name, own, nil
		}
	}
	return "", "", invalidParams("Unknown %s: %s", l.noun, name)
}

// ownURI returns the server that a URI is read from, and the URI that it has there.
func (a *aggregate) ownURI(uri string) (server, own string, err error) {
	if server, own, ok := unqualify(uri); ok {
		if _, found := a.gateway.server(server); found {
			return server, own, nil
		}
	}
	if server, ok := a.gateway.owners().serverOf(uri); ok {
		return server, uri, nil
	}
	if server := a.gateway.onlyServer("resources"); server != "" {
		return server, uri, nil
	}
	code := mcp.CodeResourceNotFound
	if a.era == mcp.Modern {
		code = mcp.CodeInvalidParams
	}
	return "", "", &rpc.Error{Code: code, Message: "Resource not found: no server lists " + uri, Data: edit(nil, change{"uri", quote(uri)})}
}

// backend returns what the client has of a server. The request that needs it first brings it about; its
// params say of which modern client the server is told.
func (a *aggregate) backend(ctx context.Context, server string, params json.RawMessage) (*backend, error) {
	a.mu.Lock()
	b := a.backends[server]
	if b == nil {
		if a.closed {
			a.mu.Unlock()
			return nil, internalError(errLeft)
		}
		entry, _ := a.gateway.server(server)
		b = &backend{aggregate: a, server: entry, params: params, ready: make(chan struct{})}
		a.backends[server] = b
		a.running.Go(b.begin)
	}
	a.mu.Unlock()
	select {
	case <-b.ready:
		return b, b.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// begin connects a backend. If that fails, the next request tries again.
func (b *backend) begin() {
	a := b.aggregate
	b.client = a.gateway.newClient(a.ctx, a.era, backendChannel{b}, a.principal, b.server.Name)
	switch c := b.client.(type) {
	case *legacyClient:
		b.err = b.initialize(c)
	case *modernClient:
		var u *upstream
		m, _ := readMeta(b.params)
		if u, b.err = c.connect(&m); b.err != nil {
			b.err = a.gateway.clientError(b.err)
		} else {
			b.session = u.session
			a.running.Go(func() { b.watch(c) })
		}
	}
	a.mu.Lock()
	if b.err != nil {
		delete(a.backends, b.server.Name)
	}
	left := a.closed
	close(b.ready) // with mu held: leave sees the backend, or the backend sees that the client has left
	a.mu.Unlock()
	if b.err != nil || left {
		b.client.leave()
		return
	}
	a.gateway.mergeSnapshot(b.server.Name, b.session.Snapshot())
	a.refreshLists(b)
}

// initialize introduces the client to a server.
func (b *backend) initialize(c *legacyClient) error {
	a := b.aggregate
	a.mu.Lock()
	hello, level := a.initializeParams, a.level
	a.mu.Unlock()
	id := quote("initialize")
	c.handshake.arrived(id)
	_, err := c.serve(a.ctx, &request{id: id, method: mcp.MethodInitialize, params: hello, channel: c.channel})
	c.handshake.finished(id)
	if err != nil {
		return err
	}
	b.session = c.server.session
	if level != nil { // a server that does not log says so by its capabilities
		c.serve(a.ctx, &request{id: quote("level"), method: mcp.MethodSetLevel, params: level, channel: c.channel})
	}
	return nil
}

// connectedBackends returns the backends that are connected.
func (a *aggregate) connectedBackends() (all []*backend) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.gateway.config.Servers {
		if b := a.backends[s.Name]; b != nil && isClosed(b.ready) && b.err == nil {
			all = append(all, b)
		}
	}
	return all
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// setLevel tells the servers that are in use, and those that will be.
func (a *aggregate) setLevel(ctx context.Context, r *request) (json.RawMessage, error) {
	if level := mcp.Level(text(r.params, "level")); !slices.Contains(mcp.Levels, level) {
		return nil, invalidParams("logging/setLevel: params.level is not one of %v", mcp.Levels)
	}
	a.mu.Lock()
	a.level = r.params
	a.mu.Unlock()
	for _, b := range a.connectedBackends() {
		b.client.serve(ctx, r) // a server that does not log says so by its capabilities
	}
	return empty, nil
}

// listTasks returns the tasks of the servers that are in use, in one page each. A server without
// tasks has none.
func (a *aggregate) listTasks(ctx context.Context, r *request) (json.RawMessage, error) {
	var using []*backend
	for _, b := range a.connectedBackends() {
		if member(b.session.Info().Capabilities, "tasks", "list") != nil {
			using = append(using, b)
		}
	}
	params := r.params
	if cursor := text(params, "cursor"); cursor != "" {
		server, own, ok := ownTaskID(cursor)
		at := slices.IndexFunc(using, func(b *backend) bool { return b.server.Name == server })
		if !ok || at < 0 {
			return nil, invalidParams("tasks/list: params.cursor was not given out by this server")
		}
		using = using[at:]
		params = edit(params, change{"cursor", nil})
		if own != "" {
			params = edit(params, change{"cursor", quote(own)})
		}
	}
	if len(using) == 0 {
		return json.RawMessage(`{"tasks":[]}`), nil
	}
	b := using[0]
	own := *r
	own.params = params
	result, err := b.client.serve(ctx, &own)
	if err != nil {
		return nil, err
	}
	next := change{"nextCursor", nil}
	if own := text(result, "nextCursor"); own != "" {
		next.value = quote(taskID(b.server.Name, own))
	} else if len(using) > 1 {
		next.value = quote(taskID(using[1].server.Name, ""))
	}
	return edit(b.renameResult(r.method, result), next), nil
}

// hear passes on what concerns all servers. What is about one request went with that request.
func (a *aggregate) hear(method string, params json.RawMessage) {
	if method != mcp.NotificationRootsListChanged {
		return
	}
	for _, b := range a.connectedBackends() {
		b.client.hear(method, params)
	}
}

func (a *aggregate) inputEnded() {
	a.mu.Lock()
	if !isClosed(a.inputDone) {
		close(a.inputDone)
	}
	a.mu.Unlock()
	for _, b := range a.connectedBackends() {
		b.client.inputEnded()
	}
}

func (a *aggregate) leave() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.cancel()
	for _, b := range a.connectedBackends() {
		b.client.leave()
	}
	a.running.Wait()
}
