package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// legacySubscriptions are the subscriptions of a legacy client: to lists, which it need not ask for,
// and to the resources that it names.
type legacySubscriptions struct {
	running sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	lists     bool                     // those to lists are followed, or the server has none that change
	resources map[string]*subscription // by URI
}

// maxSubscriptions is how many resources a client may subscribe to at once.
const maxSubscriptions = 1000

var errSubscriptions = &rpc.Error{
	Code:    mcp.CodeInternalError,
	Message: fmt.Sprintf("the client has subscribed to %d resources, which is the most", maxSubscriptions),
}

// begin runs do, which follows the lists, unless it runs already, or has found that the server has none
// that change.
func (l *legacySubscriptions) begin(do func() error) (begun bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.lists {
		return false
	}
	l.lists = true
	l.running.Go(func() {
		if err := do(); !errors.Is(err, host.ErrUnsupported) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.lists = false
		}
	})
	return true
}

// add keeps a subscription to a resource, until follow has returned, which tells the client of its
// changes. It takes the place of an older one, which may have ended: a server can refuse to subscribe
// again when it was connected anew.
func (l *legacySubscriptions) add(uri string, s *subscription, follow func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	older := l.resources[uri]
	switch {
	case l.closed:
		return s.Close()
	case older != nil:
		older.Close()
	case len(l.resources) == maxSubscriptions:
		s.Close()
		return errSubscriptions
	case l.resources == nil:
		l.resources = make(map[string]*subscription)
	}
	l.resources[uri] = s
	l.running.Go(func() {
		follow()
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.resources[uri] == s {
			delete(l.resources, uri)
		}
	})
	return nil
}

// end ends the subscription to a resource, if there is one.
func (l *legacySubscriptions) end(uri string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.resources[uri]; s != nil {
		s.Close()
		delete(l.resources, uri)
	}
}

// close returns when no subscription is followed any more. Their upstream has closed them already.
func (l *legacySubscriptions) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.running.Wait()
}

// notification is one message to a client.
type notification struct {
	method string
	params json.RawMessage
}

// notifications returns what tells a client of a change. If changes were missed, it tells that all
// that was honoured may have changed.
func notifications(c mcp.Change, honoured mcp.Filter) (all []notification) {
	missed := c.Kind == mcp.Missed
	for _, l := range []struct {
		kind   mcp.ChangeKind
		wanted bool
		method string
	}{
		{mcp.ToolsChanged, honoured.Tools, mcp.NotificationToolsListChanged},
		{mcp.PromptsChanged, honoured.Prompts, mcp.NotificationPromptsListChanged},
		{mcp.ResourcesChanged, honoured.Resources, mcp.NotificationResourcesListChanged},
	} {
		if c.Kind == l.kind || missed && l.wanted {
			all = append(all, notification{l.method, nil})
		}
	}
	updated := func(uri string) {
		all = append(all, notification{mcp.NotificationResourceUpdated, edit(nil, change{"uri", quote(uri)})})
	}
	if c.Kind == mcp.ResourceUpdated {
		updated(c.URI)
	}
	if missed {
		for _, uri := range honoured.URIs {
			updated(uri)
		}
	}
	return all
}
