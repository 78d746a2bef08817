package control

import (
	"context"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// maxSubscriptions is how many resources an editor may subscribe to at once.
const maxSubscriptions = 200

// resourceKey names a resource of a server.
type resourceKey struct{ server, uri string }

// resourceWatch is the subscription to a resource that all its editors share.
type resourceWatch struct {
	editors map[*editor]bool // under the mutex of the control; never empty while the control has the watch
	cancel  context.CancelFunc
	agreed  chan struct{} // closed when the server has answered
	err     error         // its refusal; set before agreed is closed
}

// subscribe tells all editors when a resource changes, until the last editor that has subscribed to it
// unsubscribes or leaves.
func subscribe(ctx context.Context, e *editor, s *server, p *ReadParams) (*Empty, error) {
	if err := s.session.Allows(ctx, mcp.MethodSubscribe, policy.Resource, p.URI); err != nil {
		return nil, err // the watch is of all editors
	}
	w, err := e.control.watchResource(e, s.session, resourceKey{p.Server, p.URI})
	if err != nil {
		return nil, err
	}
	select {
	case <-w.agreed:
		return &Empty{}, w.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func unsubscribe(_ context.Context, e *editor, _ *server, p *ReadParams) (*Empty, error) {
	c := e.control
	c.mu.Lock()
	defer c.mu.Unlock()
	c.unwatch(e, resourceKey{p.Server, p.URI})
	return &Empty{}, nil
}

// watchResource adds an editor to the watch of a resource, which begins with its first editor.
func (c *Control) watchResource(e *editor, s *host.Session, key resourceKey) (*resourceWatch, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.watches[key]
	switch {
	case e.gone || c.closed:
		return nil, ErrClosed
	case w != nil && w.editors[e]:
		return w, nil
	case c.subscriptions(e) == maxSubscriptions:
		return nil, invalid(KindParams, "unsubscribe from others first",
			"resources/subscribe: the editor has subscribed to %d resources, which is the most", maxSubscriptions)
	}
	if w != nil {
		w.editors[e] = true
		return w, nil
	}
	ctx, cancel := context.WithCancel(c.ctx)
	w = &resourceWatch{editors: map[*editor]bool{e: true}, cancel: cancel, agreed: make(chan struct{})}
	c.watches[key] = w
	c.running.Go(func() { c.followResource(ctx, w, s, key) })
	return w, nil
}

// subscriptions returns how many resources an editor has subscribed to. The caller holds c.mu.
func (c *Control) subscriptions(e *editor) (n int) {
	for _, w := range c.watches {
		if w.editors[e] {
			n++
		}
	}
	return n
}

// followResource tells editors of the changes of a resource, until nothing subscribes to it any more.
func (c *Control) followResource(ctx context.Context, w *resourceWatch, s *host.Session, key resourceKey) {
	defer w.cancel()
	sub, err := s.Subscribe(ctx, mcp.Filter{URIs: []string{key.uri}})
	if err != nil {
		c.endWatch(key, w)
		w.err = err
		close(w.agreed)
		return
	}
	defer sub.Close()
	close(w.agreed)
	for {
		change, err := sub.Next(ctx)
		if err != nil {
			c.endWatch(key, w)
			return
		}
		uri := change.URI
		if change.Kind == mcp.Missed {
			uri = key.uri
		}
		c.events.add(Event{Kind: ResourceUpdated, Server: key.server, URI: uri})
	}
}

// endWatch forgets a watch that has ended, so that the next subscription begins another.
func (c *Control) endWatch(key resourceKey, w *resourceWatch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watches[key] == w {
		delete(c.watches, key)
	}
}

// unwatch takes an editor from the watch of a resource, and ends a watch without editors. The caller
// holds c.mu.
func (c *Control) unwatch(e *editor, key resourceKey) {
	w := c.watches[key]
	if w == nil || !w.editors[e] {
		return
	}
	delete(w.editors, e)
	if len(w.editors) == 0 {
		delete(c.watches, key)
		w.cancel()
	}
}
