package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// backend is the connection of a client of the aggregate to one server: a client of its own there.
type backend struct {
	aggregate *aggregate
	server    host.Server
	params    json.RawMessage // of the first request to the server, see onlyMeta
	ready     chan struct{}   // closed when the fields below are set

	client   client
	upstream *upstream
	err      error

	// Guarded by the mu of the aggregate:
	watching chan struct{} // closed when the watch under way is settled, see watch; nil without one
	telling  bool          // the server is being told a level
	told     mcp.Level     // the last level that the server has accepted
}

// onlyMeta returns new params that have only the _meta of these, so that the rest of a large request
// can be freed.
func onlyMeta(params json.RawMessage) json.RawMessage {
	return edit(nil, change{"_meta", member(params, "_meta")})
}

// backend returns the backend for a server, once it is connected. The first request to the server makes
// it: params say which modern client the server is told of, and the asker of ctx asks for a sign-in.
func (a *aggregate) backend(ctx context.Context, server string, params json.RawMessage) (*backend, error) {
	a.mu.Lock()
	b := a.backends[server]
	if b == nil {
		if a.closed {
			a.mu.Unlock()
			return nil, internalError(errLeft)
		}
		entry, _ := a.gateway.server(server)
		b = &backend{aggregate: a, server: entry, params: onlyMeta(params), ready: make(chan struct{})}
		a.backends[server] = b
		lasting := withAskerOf(a.ctx, ctx)
		a.running.Go(func() { b.begin(lasting) })
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
func (b *backend) begin(ctx context.Context) {
	a := b.aggregate
	b.client = a.gateway.newClient(a.ctx, a.era, backendChannel{b, a.channel}, a.origin, b.server.Name)
	switch c := b.client.(type) {
	case *legacyClient:
		c.subscriptions.lists = true // the backend subscribes to lists itself, see watch
		if b.err = b.initialize(ctx, c); b.err == nil {
			a.tellBackends(ctx, []*backend{b}, (*backend).tellLevel)
		}
	case *modernClient:
		var u *upstream
		m, _ := readMeta(b.params)
		if u, b.err = c.connect(&m); b.err != nil {
			b.err = a.gateway.clientError(b.err)
		} else {
			b.upstream = u
		}
	}
	a.mu.Lock()
	if b.err != nil {
		delete(a.backends, b.server.Name)
	}
	left := a.closed
	close(b.ready) // with mu held: either leave and setLevel see the backend, or the backend sees their changes
	a.mu.Unlock()
	if b.err != nil || left {
		b.client.leave()
		return
	}
	b.tellLevel() // the level may have changed meanwhile
	a.learnLists(b)
	a.refreshLists(b)
}

// initialize sends the client's initialize to the server, and sets upstream.
func (b *backend) initialize(ctx context.Context, c *legacyClient) error {
	a := b.aggregate
	a.mu.Lock()
	params := a.initializeParams
	a.mu.Unlock()
	id := quote("initialize")
	c.handshake.arrived(id)
	_, err := c.serve(ctx, &request{id: id, method: mcp.MethodInitialize, params: params, channel: c.channel})
	c.handshake.finished(id)
	if err == nil {
		b.upstream = c.server
	}
	return err
}

// tellLevel tells the server the level that the client asked for last, unless the server has it
// already. It ignores a refusal: a server that does not log says so in its capabilities.
func (b *backend) tellLevel() {
	a := b.aggregate
	a.mu.Lock()
	defer a.mu.Unlock()
	if b.telling {
		return // the call that runs tells the newest level
	}
	b.telling = true
	for tried := b.told; tried != a.level; {
		tried = a.level
		a.mu.Unlock()
		err := b.upstream.setLevel(a.ctx, tried)
		a.mu.Lock()
		if err == nil {
			b.told = tried
		}
	}
	b.telling = false
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

// watch subscribes to changes of the server's lists, for as long as the client stays. It returns
// when the server has agreed to report them or has refused, but waits no longer than heldUp. After
// a failure, the next call tries again.
func (b *backend) watch() {
	a := b.aggregate
	a.mu.Lock()
	settled := b.watching
	if settled == nil && !a.closed {
		settled = make(chan struct{})
		b.watching = settled
		a.running.Go(func() { b.followLists(settled) })
	}
	a.mu.Unlock()
	select {
	case <-settled:
	case <-time.After(heldUp):
	case <-a.ctx.Done():
	}
}

// followLists subscribes to the lists of the server, and fetches each list that changes until the
// subscription ends. It closes settled when the server has agreed or refused.
func (b *backend) followLists(settled chan struct{}) {
	a, began := b.aggregate, time.Now()
	s, err := b.upstream.subscribe(a.ctx, mcp.Filter{Tools: true, Prompts: true, Resources: true})
	close(settled)
	if err == nil && time.Since(began) >= heldUp {
		a.refreshLists(b) // the lists were fetched before the watch began
	}
	for err == nil {
		var changed mcp.Change
		changed, err = s.Next(a.ctx)
		if changed.Kind != mcp.Missed && a.era == mcp.Legacy && b.upstream.serverInfo().Era == mcp.Legacy {
			continue // a legacy server has notified the backend's client already
		}
		for _, n := range notifications(changed, s.Honoured()) {
			b.listChanged(n.method)
		}
	}
	if !errors.Is(err, host.ErrUnsupported) {
		a.mu.Lock()
		b.watching = nil
		a.mu.Unlock()
	}
}

// listChanged fetches the lists that a notification is about, and reports whether there are any.
// fetchList tells the client of a list that differs from before.
func (b *backend) listChanged(method string) (any bool) {
	for i := range listings {
		if listings[i].changed == method {
			any = true
			b.aggregate.fetchList(b.server.Name, &listings[i], b.params)
		}
	}
	return any
}

// backendChannel sends messages of one server to the client, in the names of the aggregate.
type backendChannel struct {
	*backend
	over clientChannel
}

func (c backendChannel) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	answer, err := c.over.ask(ctx, method, c.renameQuestion(params))
	return c.ownAnswer(answer), err
}

func (c backendChannel) notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == mcp.NotificationAcknowledged || c.listChanged(method) || method == mcp.NotificationMessage && !c.aggregate.hears(params) {
		return nil
	}
	return c.over.notify(ctx, method, c.renameParams(method, params, c.asked))
}
