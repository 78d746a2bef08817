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
		p, err := a.part(ctx, server, r.params)
		if err != nil {
			continue // it is not honoured
		}
		s := &partStream{part: p, request: r, open: acknowledged, honoured: make(chan mcp.Filter, 1), over: make(chan struct{})}
		filter, _ := json.Marshal(own)
		part := *r
		part.params, part.line = edit(r.params, change{"notifications", filter}), s
		running.Go(func() {
			defer close(s.over)
			p.client.serve(ctx, &part)
		})
		select {
		case f := <-s.honoured:
			for _, uri := range f.URIs {
				honoured.URIs = append(honoured.URIs, a.gateway.owners().known(server, uri))
			}
			for _, id := range f.Tasks {
				honoured.Tasks = append(honoured.Tasks, taskID(server, id))
			}
		case <-s.over:
		}
	}
	text, err := json.Marshal(honoured)
	if err == nil {
		err = r.line.notify(ctx, mcp.NotificationAcknowledged, r.tagged(edit(nil, change{"notifications", text})))
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
	case <-a.ended:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-a.ctx.Done():
		return nil, context.Cause(a.ctx)
	}
	return r.tagged(edit(nil, change{"resultType", quote(string(mcp.ResultComplete))})), nil
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

// partStream is the line of the part that a server has in a stream.
type partStream struct {
	part     *part
	request  *request
	open     chan struct{}   // closed when the client has been told that the stream is open
	honoured chan mcp.Filter // has what the server reports, as soon as that is known
	over     chan struct{}   // closed when the server reports no more
}

func (s *partStream) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return nil, internal(errNoCall)
}

func (s *partStream) notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == mcp.NotificationAcknowledged {
		var f mcp.Filter
		if err := json.Unmarshal(member(params, "notifications"), &f); err != nil {
			return err
		}
		s.honoured <- f // there is room for the one that comes
		return nil
	}
	if slices.ContainsFunc(listings, func(l listing) bool { return l.changed == method }) {
		return nil // which announce tells of
	}
	select {
	case <-s.open:
		return s.request.line.notify(ctx, method, s.part.told(method, params))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// told returns the params of a notification in the names of the aggregate.
func (p *part) told(method string, params json.RawMessage) json.RawMessage {
	if method == mcp.NotificationResourceUpdated {
		params = p.of.gateway.owners().rename(p.server.Name, params, "uri")
	}
	return p.withTaskIDs(params)
}

// watch has the client hear of lists of a server that change.
func (p *part) watch(c *modernClient) {
	filter, _ := json.Marshal(mcp.Filter{Tools: true, Prompts: true, Resources: true})
	params := edit(nil, change{"_meta", member(p.params, "_meta")}, change{"notifications", filter})
	c.serve(p.of.ctx, &request{id: quote("lists"), method: mcp.MethodListen, params: params, line: partLine{p}})
}

// partLine leads from a server to the client, for what belongs to none of the client's requests.
type partLine struct{ *part }

func (l partLine) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return l.of.line.ask(ctx, method, params)
}

// notify passes a notification on. Lists that change are asked for again: the client hears of those
// that are another than before.
func (l partLine) notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == mcp.NotificationAcknowledged {
		return nil
	}
	ofList := false
	for i := range listings {
		if listings[i].changed == method {
			ofList = true
			l.of.learn(l.server.Name, &listings[i], l.params)
		}
	}
	if ofList {
		return nil
	}
	return l.of.line.notify(ctx, method, l.told(method, params))
}

// announce tells the client that a list has changed.
func (a *aggregate) announce(l *listing) {
	if a.era == mcp.Legacy {
		a.line.notify(a.ctx, l.changed, nil)
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
			s.request.line.notify(a.ctx, l.changed, s.request.tagged(nil))
		}
	}
}
