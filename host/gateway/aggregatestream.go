package gateway

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// aggregateStream is a subscriptions/listen request of a modern client of the aggregate. What it wants
// to hear of lists comes from all servers, and what it wants to hear of resources and tasks from their
// servers: each of these has a stream of its own.
type aggregateStream struct {
	request *request
	wanted  mcp.Filter
}

// listen keeps a stream until the client cancels it or goes.
func (a *aggregate) listen(ctx context.Context, r *request) (json.RawMessage, error) {
	wanted, err := readFilter(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	acknowledged := make(chan struct{})
	honoured := mcp.Filter{Tools: wanted.Tools, Prompts: wanted.Prompts, Resources: wanted.Resources}
	for server, own := range a.split(wanted) {
		b, err := a.backend(ctx, server, r.params)
		if err != nil {
			continue // it is not honoured
		}
		c := &listenChannel{backend: b, request: r, open: acknowledged, honoured: make(chan mcp.Filter, 1), over: make(chan struct{})}
		filter, _ := json.Marshal(own)
		forwarded := *r
		forwarded.params, forwarded.channel = edit(r.params, change{"notifications", filter}), c
		running.Go(func() {
			defer close(c.over)
			b.client.serve(ctx, &forwarded)
		})
		select {
		case f := <-c.honoured:
			for _, uri := range f.URIs {
				honoured.URIs = append(honoured.URIs, a.gateway.owners().aggregateURI(server, uri))
			}
			for _, id := range f.Tasks {
				honoured.Tasks = append(honoured.Tasks, taskID(server, id))
			}
		case <-c.over:
		}
	}
	text, err := json.Marshal(honoured)
	if err == nil {
		err = r.channel.notify(ctx, mcp.NotificationAcknowledged, r.withSubscriptionID(edit(nil, change{"notifications", text})))
	}
	if err != nil {
		return nil, err
	}
	close(acknowledged)
	own := &aggregateStream{r, honoured}
	a.mu.Lock()
	a.streams = append(a.streams, own)
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.streams = slices.DeleteFunc(a.streams, func(other *aggregateStream) bool { return other == own })
	}()
	select {
	case <-a.inputDone:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-a.ctx.Done():
		return nil, context.Cause(a.ctx)
	}
	return r.withSubscriptionID(edit(nil, change{"resultType", quote(string(mcp.ResultComplete))})), nil
}

// split returns which resources and tasks are heard of from which server, in the words of that
// server. Those of no server are left out.
func (a *aggregate) split(wanted mcp.Filter) map[string]mcp.Filter {
	all := make(map[string]mcp.Filter)
	for _, uri := range wanted.URIs {
		if server, own, err := a.ownURI(uri); err == nil {
			f := all[server]
			f.URIs = append(f.URIs, own)
			all[server] = f
		}
	}
	for _, id := range wanted.Tasks {
		server, own, ok := ownTaskID(id)
		if _, found := a.gateway.server(server); ok && found {
			f := all[server]
			f.Tasks = append(f.Tasks, own)
			all[server] = f
		}
	}
	return all
}

// listenChannel is the channel of a backend, for its share of a stream.
type listenChannel struct {
	backend  *backend
	request  *request
	open     chan struct{}   // closed when the client has been told that the stream is open
	honoured chan mcp.Filter // has what the server reports, as soon as that is known
	over     chan struct{}   // closed when the server reports no more
}

func (c *listenChannel) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return nil, internalError(errNoCall)
}

func (c *listenChannel) notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == mcp.NotificationAcknowledged {
		var f mcp.Filter
		if err := json.Unmarshal(member(params, "notifications"), &f); err != nil {
			return err
		}
		c.honoured <- f // there is room for the one that comes
		return nil
	}
	if slices.ContainsFunc(listings, func(l listing) bool { return l.changed == method }) {
		return nil // which notifyListChanged tells of
	}
	select {
	case <-c.open:
		return c.request.channel.notify(ctx, method, c.backend.renameParams(method, params))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// renameParams returns the params of a notification in the names of the aggregate.
func (b *backend) renameParams(method string, params json.RawMessage) json.RawMessage {
	if method == mcp.NotificationResourceUpdated {
		params = b.aggregate.gateway.owners().qualifyMember(b.server.Name, params, "uri")
	}
	return b.withTaskIDs(params)
}

// watch has the client hear of lists of a server that change.
func (b *backend) watch(c *modernClient) {
	filter, _ := json.Marshal(mcp.Filter{Tools: true, Prompts: true, Resources: true})
	params := edit(nil, change{"_meta", member(b.params, "_meta")}, change{"notifications", filter})
	c.serve(b.aggregate.ctx, &request{id: quote("lists"), method: mcp.MethodListen, params: params, channel: backendChannel{b}})
}

// backendChannel leads from a server to the client, for what belongs to none of the client's requests.
type backendChannel struct{ *backend }

func (c backendChannel) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return c.aggregate.channel.ask(ctx, method, params)
}

// notify passes a notification on. Lists that change are asked for again: the client hears of those
// that are another than before.
func (c backendChannel) notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == mcp.NotificationAcknowledged {
		return nil
	}
	ofList := false
	for i := range listings {
		if listings[i].changed == method {
			ofList = true
			c.aggregate.fetchList(c.server.Name, &listings[i], c.params)
		}
	}
	if ofList {
		return nil
	}
	return c.aggregate.channel.notify(ctx, method, c.renameParams(method, params))
}

// notifyListChanged tells the client that a list has changed.
func (a *aggregate) notifyListChanged(l *listing) {
	if a.era == mcp.Legacy {
		a.channel.notify(a.ctx, l.changed, nil)
		return
	}
	a.mu.Lock()
	streams := slices.Clone(a.streams)
	a.mu.Unlock()
	for _, s := range streams {
		wanted := map[string]bool{
			mcp.NotificationToolsListChanged: s.wanted.Tools, mcp.NotificationPromptsListChanged: s.wanted.Prompts,
			mcp.NotificationResourcesListChanged: s.wanted.Resources,
		}
		if wanted[l.changed] {
			s.request.channel.notify(a.ctx, l.changed, s.request.withSubscriptionID(nil))
		}
	}
}
