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

// legacySubscriptions are the subscriptions of a legacy client: to lists, without being asked, and
// to the resources that it names.
type legacySubscriptions struct {
	running sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	lists     bool                     // lists are being followed, or the server does not report changes of lists
	resources map[string]*subscription // by URI
}

// maxSubscriptions is how many resources a client may subscribe to at once.
const maxSubscriptions = 1000

var errSubscriptions = &rpc.Error{
	Code:    mcp.CodeInternalError,
	Message: fmt.Sprintf("the client has subscribed to %d resources, which is the most", maxSubscriptions),
}

// begin runs do, which follows the lists, and returns true. If do runs already, or has found that the
// server does not report changes of lists, begin returns false.
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

// add keeps a subscription to a resource, and runs follow, which tells the client of the changes.
// When follow returns, the subscription is forgotten. A new subscription replaces an older one to the
// same resource, which may have ended: a server can refuse to subscribe again after a reconnect.
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

// close waits until no subscription is followed any more. The upstream has closed the subscriptions
// before.
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

// notifications returns the notifications of a change for a client. If changes were missed, it
// returns those of every change that could have been reported.
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
