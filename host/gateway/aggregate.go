package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// aggregate is a client that reaches all servers as one. It has a backend for each server that it
// uses. A backend is a client of the same era that reaches one server bare. So an aggregate only
// translates names; its backends do the rest.
type aggregate struct {
	origin
	gateway   *Gateway
	servers   *serverCache // what is known of the servers to this client
	era       mcp.Era
	channel   clientChannel // for what belongs to no request
	ctx       context.Context
	cancel    context.CancelFunc
	handshake *handshake // nil for a modern client
	running   sync.WaitGroup

	mu               sync.Mutex
	closed           bool
	initializeParams json.RawMessage // the params of initialize
	level            mcp.Level       // of the newest logging/setLevel; "" without one
	backends         map[string]*backend
	turns            map[string]*turns // of the requests to each server
	fetches          map[listKey]*listFetch
	listedKinds      map[catalogue.Kind]bool     // the lists that the client has asked for
	searches         bool                        // the last tools/list of the client returned the tools that search
	lastListed       map[listKey]json.RawMessage // each server's part of a list, as the client last saw it or was told of a change
	subscribed       map[string]string           // the server, by the form of a URI that a legacy client has subscribed to; maxSubscriptions at most
	streams          []*aggregateStream
	inputDone        chan struct{} // closed when the client asks for nothing more
}

func newAggregate(ctx context.Context, g *Gateway, era mcp.Era, channel clientChannel, o origin) *aggregate {
	a := &aggregate{
		gateway: g, servers: g.servers, era: era, channel: channel, origin: o, inputDone: make(chan struct{}),
		backends: make(map[string]*backend), turns: make(map[string]*turns), fetches: make(map[listKey]*listFetch), lastListed: make(map[listKey]json.RawMessage),
		listedKinds: make(map[catalogue.Kind]bool), subscribed: make(map[string]string),
	}
	if !isOwner(o.principal) {
		a.servers = newServerCache(g, true)
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
		m, refusal := readMeta(r.params)
		if refusal != nil {
			return nil, refusal
		}
		if r.caller = a.gateway.caller(&a.origin, mcp.Modern, m.info); r.caller != nil {
			r.caller.Peer = r.peer
		}
	case r.method == mcp.MethodPing:
		return empty, nil
	case r.method == mcp.MethodInitialize:
		return a.initialize(r)
	default:
		if err := a.handshake.await(ctx, r.method); err != nil {
			return nil, err
		}
		r.caller = a.legacyCaller()
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
		return a.discover(r), nil
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
	result, r, err := a.callOfTools(ctx, r)
	if err != nil || result != nil {
		return result, err
	}
	return a.forward(ctx, r)
}

// legacyCaller returns who sends the requests of a legacy client, by its initialize.
func (a *aggregate) legacyCaller() *policy.Caller {
	a.mu.Lock()
	params := a.initializeParams
	a.mu.Unlock()
	return a.gateway.caller(&a.origin, mcp.Legacy, member(params, "clientInfo"))
}

// revision returns the revision that the client speaks. The handshake of a legacy client is over.
func (a *aggregate) revision() string {
	if a.era == mcp.Modern {
		return mcp.LatestModern
	}
	_, version := a.handshake.agreed()
	return version
}

// forward passes a request to the server that it is about, and returns that server's answer.
// Requests to one server keep their order, and wait for no request to another.
func (a *aggregate) forward(ctx context.Context, r *request) (json.RawMessage, error) {
	if err := r.turn.await(ctx); err != nil {
		return nil, err
	}
	server, params, err := a.routeRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	own := *r
	own.params = params
	if err := a.gateway.checkReach(r.caller, server, &own); err != nil {
		return nil, err
	}
	own.turn = a.turn(server, r.turn)
	defer own.turn.pass()
	r.turn.pass()
	b, err := a.backend(a.withAsker(ctx, r), server, r.params)
	if err != nil {
		return nil, err
	}
	own.channel = backendChannel{b, r.channel}
	b.noteSubscription(r)
	result, err := b.client.serve(ctx, &own)
	if err != nil {
		return nil, err
	}
	return b.renameResult(r, result), nil
}

// turn returns the place of a request among the requests to one server. t is its place among all
// requests. It returns nil for a nil t.
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

// withAsker returns a context in which a legacy client can be asked, over the channel of r, to sign in
// to a server that wants a sign-in before it starts. For a modern client it returns ctx: there the
// backend asks.
func (a *aggregate) withAsker(ctx context.Context, r *request) context.Context {
	if a.era == mcp.Modern {
		return ctx
	}
	a.mu.Lock()
	capabilities := member(a.initializeParams, "capabilities")
	a.mu.Unlock()
	return withAsker(ctx, capabilities, func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		if err := checkOffered(capabilities, method, params); err != nil {
			return nil, err
		}
		return r.channel.ask(ctx, method, withElicitationID(method, params))
	})
}

// routeRequest returns the name of the server that a request is about, and the params with the names that
// this server uses.
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
		uri := text(r.params, "uri")
		server, own := a.unsubscribed(r.method, uri)
		if server == "" {
			server, own, err = a.ownURI(ctx, r, uri)
		}
		return server, edit(r.params, change{"uri", quote(own)}), err
	case mcp.MethodComplete:
		ref := member(r.params, "ref")
		name, own := "uri", ""
		if text(ref, "type") == "ref/prompt" {
			name = "name"
			server, own, err = a.ownName(ctx, r, catalogue.Prompts, text(ref, name))
		} else {
			server, own, err = a.ownURI(ctx, r, text(ref, name))
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

// ownName returns the server that has a tool or a prompt, and the server's own name for it. ownName
// asks a server whose list was not fetched yet for the list, but only if the name can be in it.
func (a *aggregate) ownName(ctx context.Context, r *request, kind catalogue.Kind, name string) (server, own string, err error) {
	if server, own, ok := splitName(name); ok {
		if _, found := a.gateway.server(server); found {
			return server, own, nil
		}
	}
	l, silent := listingOf(kind), ""
	for _, s := range a.reachable(r) {
		if !strings.HasPrefix(name, hashedPrefix(s.Name)) {
			continue
		}
		if a.lacksList(s.Name, l) {
			r.turn.pass() // requests to other servers do not wait for this one's list
			a.fetchList(s.Name, l, r.params)
			a.awaitList(ctx, s.Name, l)
		}
		if own, ok := a.servers.renamedList(s.Name, l).own[name]; ok {
			return s.Name, own, nil
		}
		if a.lacksList(s.Name, l) {
			silent = s.Name
		}
	}
	switch {
	case ctx.Err() != nil:
		return "", "", context.Cause(ctx)
	case silent != "":
		return "", "", &rpc.Error{Code: mcp.CodeInternalError, Message: fmt.Sprintf(
			"%s may be a %s of %s, which has not listed what it has", name, l.noun, silent)}
	}
	return "", "", invalidParams("Unknown %s: %s", l.noun, name)
}

// ownURI returns the server that a URI is read from, and the server's own URI for it. If no list that is
// known has the URI, ownURI asks the servers whose lists were not fetched yet.
func (a *aggregate) ownURI(ctx context.Context, r *request, uri string) (server, own string, err error) {
	if server, own, ok := a.knownURI(uri); ok {
		return server, own, nil
	}
	silent := a.askForURIs(ctx, r)
	if server, own, ok := a.knownURI(uri); ok {
		return server, own, nil
	}
	switch {
	case ctx.Err() != nil:
		return "", "", context.Cause(ctx)
	case silent != "":
		return "", "", &rpc.Error{Code: mcp.CodeInternalError, Message: fmt.Sprintf(
			"%s may be a resource of %s, which has not listed what it has", uri, silent)}
	}
	code := mcp.CodeResourceNotFound
	if a.era == mcp.Modern {
		code = mcp.CodeInvalidParams
	}
	return "", "", &rpc.Error{Code: code, Message: "Resource not found: no server lists " + uri, Data: edit(nil, change{"uri", quote(uri)})}
}

// knownURI is ownURI by the lists that are known.
func (a *aggregate) knownURI(uri string) (server, own string, ok bool) {
	if server, own, ok := unqualify(uri); ok {
		if _, found := a.gateway.server(server); found {
			return server, own, true
		}
	}
	if server, ok := a.servers.owners().serverOf(uri); ok {
		return server, uri, true
	}
	server = a.servers.onlyServer("resources")
	return server, uri, server != ""
}

// setLevel keeps the level that a client asks for, and tells it to the servers that are in use. Each
// server that the client uses later is told it then.
func (a *aggregate) setLevel(ctx context.Context, r *request) (json.RawMessage, error) {
	level, err := readLevel(r.params)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	a.level = level
	a.mu.Unlock()
	a.tellBackends(ctx, a.connectedBackends(), (*backend).tellLevel)
	return empty, nil
}

// hears reports whether the client wants a log message. A server may have refused the level, or not keep to it.
func (a *aggregate) hears(message json.RawMessage) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.level == "" || severity(text(message, "level")) <= severity(string(a.level))
}

// listTasks returns a page of the tasks of one server that is in use. Its cursor leads to the
// server's next page, or to the first page of the next server that has tasks.
func (a *aggregate) listTasks(ctx context.Context, r *request) (json.RawMessage, error) {
	var using []*backend
	for _, b := range a.connectedBackends() {
		if member(b.upstream.serverInfo().Capabilities, "tasks", "list") != nil {
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
	return edit(b.renameResult(r, result), next), nil
}

// hear passes a change of the roots to all servers, and progress to the server whose request it is
// about. It drops other notifications: they are about one request, and the backend that serves the
// request has handled them.
func (a *aggregate) hear(method string, params json.RawMessage) {
	backends := a.connectedBackends()
	switch method {
	case mcp.NotificationRootsListChanged:
	case mcp.NotificationProgress:
		server, token, ok := splitToken(params)
		if !ok {
			return
		}
		backends = slices.DeleteFunc(backends, func(b *backend) bool { return b.server.Name != server })
		params = edit(params, change{"progressToken", token})
	default:
		return
	}
	a.tellBackends(a.ctx, backends, func(b *backend) { b.client.hear(method, params) })
}

// heldUp is how long a client waits for servers that do not answer.
const heldUp = 2 * time.Second

// tellBackends calls tell for several backends at once. It waits until all calls have returned, but
// no longer than heldUp.
func (a *aggregate) tellBackends(ctx context.Context, backends []*backend, tell func(*backend)) {
	var all sync.WaitGroup
	a.mu.Lock()
	if !a.closed { // after leave, no goroutine may be added to running
		for _, b := range backends {
			all.Add(1)
			a.running.Go(func() {
				defer all.Done()
				tell(b)
			})
		}
	}
	a.mu.Unlock()
	told := make(chan struct{})
	go func() {
		all.Wait()
		close(told)
	}()
	select {
	case <-told:
	case <-time.After(heldUp):
	case <-ctx.Done():
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
	for _, f := range a.fetches {
		f.stop()
	}
	a.mu.Unlock()
	a.cancel()
	var leaving sync.WaitGroup
	for _, b := range a.connectedBackends() {
		leaving.Go(b.client.leave)
	}
	leaving.Wait()
	a.running.Wait()
}
