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

// aggregate is a client that reaches all servers as one. Behind it there is a part for each server
// that it uses: a client of the same era that reaches that server bare. So an aggregate translates
// names, and all else is as for a client of one server.
type aggregate struct {
	gateway   *Gateway
	era       mcp.Era
	line      line   // for what belongs to no request
	principal string // whose the requests are
	ctx       context.Context
	cancel    context.CancelFunc
	hands     *handshake // nil for a modern client
	running   sync.WaitGroup

	mu      sync.Mutex
	left    bool
	hello   json.RawMessage // the params of initialize
	level   json.RawMessage // those of the newest logging/setLevel; nil without one
	parts   map[string]*part
	learned map[listKey]*learning
	listed  map[catalogue.Kind]bool     // the lists that the client has asked for
	served  map[listKey]json.RawMessage // what these had of each server when the client was last told of them
	streams []*aggregateStream
	ended   chan struct{} // closed when the client asks for nothing more
}

// part is what a client of the aggregate has of one server.
type part struct {
	of     *aggregate
	server host.Server
	params json.RawMessage // of the request that needed it first
	ready  chan struct{}   // closed when the fields below are set

	client  client
	session *host.Session
	err     error
}

func newAggregate(ctx context.Context, g *Gateway, era mcp.Era, l line, principal string) *aggregate {
	a := &aggregate{
		gateway: g, era: era, line: l, principal: principal, ended: make(chan struct{}),
		parts: make(map[string]*part), learned: make(map[listKey]*learning), served: make(map[listKey]json.RawMessage), listed: make(map[catalogue.Kind]bool),
	}
	a.ctx, a.cancel = context.WithCancel(ctx)
	if era == mcp.Legacy {
		a.hands = newHandshake()
	}
	return a
}

func (a *aggregate) handshake() *handshake { return a.hands }

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
		if err := a.hands.await(ctx, r.method); err != nil {
			return nil, err
		}
	}
	if foreign := map[mcp.Era][]string{mcp.Legacy: modernOnly, mcp.Modern: legacyOnly}[a.era]; slices.Contains(foreign, r.method) {
		return nil, noMethod(r.method, a.revision())
	}
	for i := range listings {
		if listings[i].method == r.method {
			return a.list(ctx, r, &listings[i])
		}
	}
	switch r.method {
	case mcp.MethodDiscover:
		return a.discover(), nil
	case mcp.MethodListen:
		return a.listen(ctx, r)
	case mcp.MethodSetLevel:
		return a.setLevel(ctx, r)
	case mcp.MethodListTasks:
		return a.listTasks(ctx, r)
	}
	return a.pass(ctx, r)
}

// revision returns the newest revision of the client's era.
func (a *aggregate) revision() string {
	if a.era == mcp.Modern {
		return mcp.LatestModern
	}
	return mcp.LatestLegacy
}

// pass has the server that a request is about answer it.
func (a *aggregate) pass(ctx context.Context, r *request) (json.RawMessage, error) {
	server, params, err := a.route(ctx, r)
	if err != nil {
		return nil, err
	}
	p, err := a.part(ctx, server, r.params)
	if err != nil {
		return nil, err
	}
	own := *r
	own.params = params
	result, err := p.client.serve(ctx, &own)
	if err != nil {
		return nil, err
	}
	return p.named(r.method, result), nil
}

// route returns the name of the server that a request is about, and the params in the server's own
// words.
func (a *aggregate) route(ctx context.Context, r *request) (server string, params json.RawMessage, err error) {
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
	if server, own, ok := plainName(name); ok {
		if _, found := a.gateway.server(server); found {
			return server, own, nil
		}
	}
	l := listingOf(kind)
	for _, s := range a.gateway.config.Servers {
		if !strings.HasPrefix(name, hashedPrefix(s.Name)) {
			continue
		}
		if a.unknown(s.Name, l) {
			if err := a.learn(s.Name, l, r.params).await(ctx); err != nil {
				return "", "", err
			}
		}
		if own, ok := a.gateway.translated(s.Name, l).own[name]; ok {
			return s.Name, own, nil
		}
	}
	noun := map[catalogue.Kind]string{catalogue.Tools: "tool", catalogue.Prompts: "prompt"}[kind]
	return "", "", invalidParams("Unknown %s: %s", noun, name)
}

// ownURI returns the server that a URI is read from, and the URI that it has there.
func (a *aggregate) ownURI(uri string) (server, own string, err error) {
	if server, own, ok := unqualify(uri); ok {
		if _, found := a.gateway.server(server); found {
			return server, own, nil
		}
	}
	if server, ok := a.gateway.owners().find(uri); ok {
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

// part returns what the client has of a server. The request that needs it first brings it about; its
// params say of which modern client the server is told.
func (a *aggregate) part(ctx context.Context, server string, params json.RawMessage) (*part, error) {
	a.mu.Lock()
	p := a.parts[server]
	if p == nil {
		if a.left {
			a.mu.Unlock()
			return nil, internal(errLeft)
		}
		entry, _ := a.gateway.server(server)
		p = &part{of: a, server: entry, params: params, ready: make(chan struct{})}
		a.parts[server] = p
		a.running.Go(p.begin)
	}
	a.mu.Unlock()
	select {
	case <-p.ready:
		return p, p.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// begin connects a part. If that fails, the next request tries again.
func (p *part) begin() {
	a := p.of
	p.client = a.gateway.newClient(a.ctx, a.era, partLine{p}, a.principal, p.server.Name)
	switch c := p.client.(type) {
	case *legacyClient:
		p.err = p.initialize(c)
	case *modernClient:
		var u *upstream
		m, _ := readMeta(p.params)
		if u, p.err = c.connect(&m); p.err != nil {
			p.err = a.gateway.fault(p.err)
		} else {
			p.session = u.session
			a.running.Go(func() { p.watch(c) })
		}
	}
	a.mu.Lock()
	if p.err != nil {
		delete(a.parts, p.server.Name)
	}
	left := a.left
	close(p.ready) // with mu held: leave sees the part, or the part sees that the client has left
	a.mu.Unlock()
	if p.err != nil || left {
		p.client.leave()
		return
	}
	a.gateway.keep(p.server.Name, p.session.Snapshot())
	a.renew(p)
}

// initialize introduces the client to a server.
func (p *part) initialize(c *legacyClient) error {
	a := p.of
	a.mu.Lock()
	hello, level := a.hello, a.level
	a.mu.Unlock()
	id := quote("initialize")
	c.hands.expect(id)
	_, err := c.serve(a.ctx, &request{id: id, method: mcp.MethodInitialize, params: hello, line: c.line})
	c.hands.answered(id)
	if err != nil {
		return err
	}
	p.session = c.server.session
	if level != nil { // a server that does not log says so by its capabilities
		c.serve(a.ctx, &request{id: quote("level"), method: mcp.MethodSetLevel, params: level, line: c.line})
	}
	return nil
}

// using returns the parts that are connected.
func (a *aggregate) using() (all []*part) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.gateway.config.Servers {
		if p := a.parts[s.Name]; p != nil && isClosed(p.ready) && p.err == nil {
			all = append(all, p)
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
	for _, p := range a.using() {
		p.client.serve(ctx, r) // a server that does not log says so by its capabilities
	}
	return empty, nil
}

// listTasks returns the tasks of the servers that are in use, in one page each. A server without
// tasks has none.
func (a *aggregate) listTasks(ctx context.Context, r *request) (json.RawMessage, error) {
	var using []*part
	for _, p := range a.using() {
		if member(p.session.Info().Capabilities, "tasks", "list") != nil {
			using = append(using, p)
		}
	}
	params := r.params
	if cursor := text(params, "cursor"); cursor != "" {
		server, own, ok := ownTaskID(cursor)
		at := slices.IndexFunc(using, func(p *part) bool { return p.server.Name == server })
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
	p := using[0]
	own := *r
	own.params = params
	result, err := p.client.serve(ctx, &own)
	if err != nil {
		return nil, err
	}
	next := change{"nextCursor", nil}
	if own := text(result, "nextCursor"); own != "" {
		next.value = quote(taskID(p.server.Name, own))
	} else if len(using) > 1 {
		next.value = quote(taskID(using[1].server.Name, ""))
	}
	return edit(p.named(r.method, result), next), nil
}

// hear passes on what concerns all servers. What is about one request went with that request.
func (a *aggregate) hear(method string, params json.RawMessage) {
	if method != mcp.NotificationRootsListChanged {
		return
	}
	for _, p := range a.using() {
		p.client.hear(method, params)
	}
}

func (a *aggregate) inputEnded() {
	a.mu.Lock()
	if !isClosed(a.ended) {
		close(a.ended)
	}
	a.mu.Unlock()
	for _, p := range a.using() {
		p.client.inputEnded()
	}
}

func (a *aggregate) leave() {
	a.mu.Lock()
	a.left = true
	a.mu.Unlock()
	a.cancel()
	for _, p := range a.using() {
		p.client.leave()
	}
	a.running.Wait()
}
