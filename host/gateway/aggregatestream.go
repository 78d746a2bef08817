package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// aggregateStream is a subscriptions/listen request of a modern client of the aggregate. Changes of
// lists come from all servers. Changes of a resource or a task come from its server, over a stream to
// that server alone.
type aggregateStream struct {
	aggregate *aggregate
	request   *request
	wanted    mcp.Filter        // of lists
	servers   map[string]string // of resources, by the form of their URI that the client uses
	open      chan struct{}     // closed when the client has been told that the stream is open

	// Guarded by the mu of the aggregate:
	acknowledged bool
	missed       map[string]bool // notifications of lists that changed before that
}

// listen opens a stream, and returns its result when the client asks for nothing more. It returns an
// error when the client cancels the stream or leaves.
func (a *aggregate) listen(ctx context.Context, r *request) (json.RawMessage, error) {
	wanted, err := readFilter(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	s := &aggregateStream{
		aggregate: a, request: r, open: make(chan struct{}), missed: make(map[string]bool),
		wanted: mcp.Filter{Tools: wanted.Tools, Prompts: wanted.Prompts, Resources: wanted.Resources}, servers: make(map[string]string),
	}
	a.mu.Lock()
	a.streams = append(a.streams, s)
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.streams = slices.DeleteFunc(a.streams, func(other *aggregateStream) bool { return other == s })
	}()
	var channels []*listenChannel
	for server, own := range s.split(ctx, wanted) {
		c := &listenChannel{stream: s, server: server, honoured: make(chan mcp.Filter, 1), over: make(chan struct{})}
		var listening context.Context
		listening, c.cancel = context.WithCancel(ctx)
		channels = append(channels, c)
		running.Go(func() {
			defer close(c.over)
			c.listen(listening, own)
		})
	}
	if err := s.acknowledge(ctx, channels); err != nil {
		return nil, err
	}
	select {
	case <-a.inputDone:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-a.ctx.Done():
		return nil, context.Cause(a.ctx)
	}
	return r.withSubscriptionID(edit(nil, change{"resultType", quote(string(mcp.ResultComplete))})), nil
}

// acknowledge tells the client which changes the stream reports: those of lists, and those that servers
// agree to report within [Config].ListWait. It stops listening to a server that has not agreed by then.
func (s *aggregateStream) acknowledge(ctx context.Context, channels []*listenChannel) error {
	a, honoured := s.aggregate, s.wanted
	late, expire := context.WithTimeout(ctx, a.gateway.config.ListWait)
	defer expire()
	for _, c := range channels {
		var f mcp.Filter
		select {
		case f = <-c.honoured:
		case <-c.over:
		case <-late.Done(): // c may have agreed while the loop waited for another channel
			select {
			case f = <-c.honoured:
			default:
				c.cancel()
			}
		}
		n := &uriNaming{owners: a.servers.owners(), server: c.server, asked: c.asked}
		for _, uri := range f.URIs {
			honoured.URIs = append(honoured.URIs, n.form(uri))
		}
		for _, id := range f.Tasks {
			honoured.Tasks = append(honoured.Tasks, taskID(c.server, id))
		}
	}
	text, err := json.Marshal(honoured)
	if err == nil {
		err = s.notify(ctx, mcp.NotificationAcknowledged, edit(nil, change{"notifications", text}))
	}
	if err != nil {
		return err
	}
	close(s.open)
	a.mu.Lock()
	s.acknowledged = true
	missed := slices.Sorted(maps.Keys(s.missed))
	a.mu.Unlock()
	for _, method := range missed {
		s.notify(ctx, method, nil)
	}
	return nil
}

// notify sends a notification of the stream.
func (s *aggregateStream) notify(ctx context.Context, method string, params json.RawMessage) error {
	return s.request.channel.notify(ctx, method, s.request.withSubscriptionID(params))
}

// split returns, by server, the resources and tasks that the server has to report, in the
// server's own names. It leaves out those that no server has. It is called once, before the stream is open.
func (s *aggregateStream) split(ctx context.Context, wanted mcp.Filter) map[string]mcp.Filter {
	a, r, all := s.aggregate, s.request, make(map[string]mcp.Filter)
	for _, uri := range wanted.URIs {
		if server, own, err := a.ownURI(ctx, r, uri); err == nil && a.gateway.reaches(r.caller, server) {
			f := all[server]
			f.URIs = append(f.URIs, own)
			s.servers[uri] = server
			all[server] = f
		}
	}
	for _, id := range wanted.Tasks {
		server, own, ok := ownTaskID(id)
		if _, found := a.gateway.server(server); ok && found && a.gateway.reaches(r.caller, server) {
			f := all[server]
			f.Tasks = append(f.Tasks, own)
			all[server] = f
		}
	}
	return all
}

// listenChannel is the channel of the request by which a backend listens to one server, on behalf of
// a stream.
type listenChannel struct {
	stream   *aggregateStream
	server   string
	honoured chan mcp.Filter // gets what the server reports, as soon as that is known
	over     chan struct{}   // closed when the server reports no more
	cancel   context.CancelFunc
	backend  *backend
}

// listen asks a server to report changes, until ctx ends. wanted has the server's own names.
func (c *listenChannel) listen(ctx context.Context, wanted mcp.Filter) {
	forwarded := *c.stream.request
	var err error
	if c.backend, err = c.stream.aggregate.backend(ctx, c.server, forwarded.params); err != nil {
		return // acknowledge sees that over is closed, and leaves it out
	}
	filter, _ := json.Marshal(wanted)
	forwarded.params, forwarded.channel = edit(forwarded.params, change{"notifications", filter}), c
	c.backend.client.serve(ctx, &forwarded)
}

// asked reports whether the client has asked for changes of a resource of the server by this form of its URI.
func (c *listenChannel) asked(form string) bool { return c.stream.servers[form] == c.server }

func (c *listenChannel) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return nil, internalError(errNoCall)
}

func (c *listenChannel) notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == mcp.NotificationAcknowledged {
		var f mcp.Filter
		if err := json.Unmarshal(member(params, "notifications"), &f); err != nil {
			return err
		}
		c.honoured <- f // does not wait: a stream is acknowledged once
		return nil
	}
	if slices.ContainsFunc(listings, func(l listing) bool { return l.changed == method }) {
		return nil // notifyListChanged tells the client
	}
	select {
	case <-c.stream.open:
		return c.stream.request.channel.notify(ctx, method, c.backend.renameParams(method, params, c.asked))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// notifyListChanged tells the client that a list has changed.
func (a *aggregate) notifyListChanged(l *listing) {
	if a.era == mcp.Legacy {
		a.channel.notify(a.ctx, l.changed, nil)
		return
	}
	var open []*aggregateStream
	a.mu.Lock()
	for _, s := range a.streams {
		switch {
		case !l.wanted(&s.wanted):
		case s.acknowledged:
			open = append(open, s)
		default:
			s.missed[l.changed] = true
		}
	}
	a.mu.Unlock()
	for _, s := range open {
		s.notify(a.ctx, l.changed, nil)
	}
}
