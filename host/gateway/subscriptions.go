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
	lists     bool                          // those to lists are followed, or the server has none that change
	resources map[string]*host.Subscription // by URI
}

// maxSubscriptions is how many resources a client may subscribe to at once.
const maxSubscriptions = 1000

// begin runs do, which follows the lists, unless it runs already. It runs again after an error.
func (l *legacySubscriptions) begin(do func() error) (begun bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.lists {
		return false
	}
	l.lists = true
	l.running.Go(func() {
		if err := do(); err != nil && !errors.Is(err, host.ErrUnsupported) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.lists = false
		}
	})
	return true
}

// add keeps a subscription to a resource, which follow follows. If there is one already, add closes
// the new one.
func (l *legacySubscriptions) add(uri string, s *host.Subscription, follow func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed, l.resources[uri] != nil:
		return s.Close()
	case len(l.resources) == maxSubscriptions:
		s.Close()
		return &rpc.Error{Code: mcp.CodeInternalError, Message: fmt.Sprintf("the client has subscribed to %d resources, which is the most", maxSubscriptions)}
	case l.resources == nil:
		l.resources = make(map[string]*host.Subscription)
	}
	l.resources[uri] = s
	l.running.Go(follow)
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

// close ends all subscriptions, whose session is closed already.
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
