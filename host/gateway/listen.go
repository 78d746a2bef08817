package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// listenStreams are the open subscriptions/listen requests of a modern client
// (2026-07-28/basic/patterns/subscriptions).
type listenStreams struct {
	ending  chan struct{} // closed when the streams have to end
	endOnce sync.Once

	mu      sync.Mutex
	opening int             // how many are not acknowledged yet
	open    []*listenStream // streams that are acknowledged
	changed chan struct{}   // closed, and replaced, when opening or open changes
	named   int             // how many resources and tasks all streams name
}

// listenStream is one stream: the request of the client, and the subscription that it became.
type listenStream struct {
	request      *request
	subscription *subscription
}

// withSubscriptionID returns params or a result with the id of r, which names the stream that they
// belong to.
func (r *request) withSubscriptionID(params json.RawMessage) json.RawMessage {
	return editMeta(params, change{mcp.MetaSubscriptionID, r.id})
}

// readFilter returns the changes that a subscriptions/listen request asks for.
func readFilter(r *request) (f mcp.Filter, err error) {
	wanted := member(r.params, "notifications")
	if !isObject(wanted) || json.Unmarshal(wanted, &f) != nil {
		err = invalidParams("subscriptions/listen: params.notifications is not a filter")
	}
	return f, err
}

// listen opens a stream, and returns its result when the stream ends: the client cancels it or
// asks for nothing more, or the server ends it. If the client leaves, listen returns an error.
func (c *modernClient) listen(ctx context.Context, u *upstream, r *request) (json.RawMessage, error) {
	filter, err := readFilter(r)
	if err == nil {
		err = r.turn.await(ctx)
	}
	if err != nil {
		return nil, err
	}
	r.turn.pass() // the stream stays open
	named := len(filter.URIs) + len(filter.Tasks)
	if !c.streams.reserve(named) {
		return nil, errSubscriptions
	}
	defer c.streams.reserve(-named)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := c.streams.subscribe(ctx, u, r, filter)
	if err != nil {
		return nil, c.gateway.clientError(err)
	}
	if s != nil {
		defer s.Close()
		defer c.streams.remove(s)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		follow(ctx, u, s, r)
	}()
	select {
	case <-c.streams.ending:
		cancel()
	case <-over:
	}
	<-over
	if ctx.Err() != nil && c.ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return r.withSubscriptionID(edit(nil, change{"resultType", quote(string(mcp.ResultComplete))})), nil
}

// reserve counts the resources and tasks that one more stream names. If a client may not name so many,
// reserve counts none of them and returns false. A negative number gives back.
func (all *listenStreams) reserve(more int) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if more > 0 && all.named+more > maxSubscriptions {
		return false
	}
	all.named += more
	return true
}

// subscribe makes the subscription for a stream, and then acknowledges the stream to the client.
// The subscription is nil if the server reports none of the wanted changes.
func (all *listenStreams) subscribe(ctx context.Context, u *upstream, r *request, wanted mcp.Filter) (s *subscription, err error) {
	all.change(func() { all.opening++ })
	defer all.change(func() {
		all.opening--
		if s != nil && err == nil {
			all.open = append(all.open, &listenStream{r, s})
		}
	})
	var honoured mcp.Filter
	if !wanted.Empty() {
		s, err = u.subscribe(ctx, wanted)
		switch {
		case err == nil:
			honoured = s.Honoured()
		case errors.Is(err, host.ErrUnsupported):
			err = nil
		default:
			return nil, err
		}
	}
	text, err := json.Marshal(honoured)
	if err == nil {
		err = r.channel.notify(ctx, mcp.NotificationAcknowledged, r.withSubscriptionID(edit(nil, change{"notifications", text})))
	}
	if err != nil && s != nil {
		s.Close()
	}
	return s, err
}

func (all *listenStreams) remove(s *subscription) {
	all.change(func() {
		for i, one := range all.open {
			if one.subscription == s {
				all.open = append(all.open[:i:i], all.open[i+1:]...)
				return
			}
		}
	})
}

// change makes a change and wakes tell, which may wait for it.
func (all *listenStreams) change(do func()) {
	all.mu.Lock()
	defer all.mu.Unlock()
	do()
	close(all.changed)
	all.changed = make(chan struct{})
}

// tell passes a notification of a modern server on to the stream that it belongs to. If the client
// has no acknowledgement of the stream yet, tell waits for that. It drops a notification the
// stream has ended.
func (all *listenStreams) tell(ctx context.Context, e host.Event) {
	for {
		all.mu.Lock()
		open, opening, changed := all.open, all.opening, all.changed
		all.mu.Unlock()
		for _, one := range open {
			if one.subscription.ID() == e.Subscription {
				one.request.channel.notify(ctx, e.Method, one.request.withSubscriptionID(e.Params))
				return
			}
		}
		if opening == 0 {
			return // of a stream that has ended
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// end ends all streams, and any that begin later.
func (all *listenStreams) end() { all.endOnce.Do(func() { close(all.ending) }) }

// follow sends the changes of a subscription on the stream of r, until the subscription or ctx ends.
// For a modern server it sends only changes that were missed: tell sends the others. If s is nil,
// follow waits for ctx.
func follow(ctx context.Context, u *upstream, s *subscription, r *request) {
	if s == nil {
		<-ctx.Done()
		return
	}
	for {
		changed, err := s.Next(ctx)
		if err != nil {
			return
		}
		if changed.Kind != mcp.Missed && u.serverInfo().Era == mcp.Modern {
			continue
		}
		for _, n := range notifications(changed, s.Honoured()) {
			r.channel.notify(ctx, n.method, r.withSubscriptionID(n.params))
		}
	}
}
