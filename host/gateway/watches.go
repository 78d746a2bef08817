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

// watches are the subscriptions of a legacy client: to lists, which it need not ask for, and to the
// resources that it names.
type watches struct {
	running sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	lists    bool                          // those to lists are followed, or the server has none that change
	resource map[string]*host.Subscription // by URI
}

// maxWatches is how many resources a client may subscribe to at once.
const maxWatches = 1000

// begin runs do, which follows the lists, unless it runs already. It runs again after an error.
func (w *watches) begin(do func() error) (begun bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.lists {
		return false
	}
	w.lists = true
	w.running.Go(func() {
		if err := do(); err != nil && !errors.Is(err, host.ErrUnsupported) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.lists = false
		}
	})
	return true
}

// add keeps a subscription to a resource, which follow follows. If there is one already, add closes
// the new one.
func (w *watches) add(uri string, s *host.Subscription, follow func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.closed, w.resource[uri] != nil:
		return s.Close()
	case len(w.resource) == maxWatches:
		s.Close()
		return &rpc.Error{Code: mcp.CodeInternalError, Message: fmt.Sprintf("the client has subscribed to %d resources, which is the most", maxWatches)}
	case w.resource == nil:
		w.resource = make(map[string]*host.Subscription)
	}
	w.resource[uri] = s
	w.running.Go(follow)
	return nil
}

// end ends the subscription to a resource, if there is one.
func (w *watches) end(uri string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.resource[uri]; s != nil {
		s.Close()
		delete(w.resource, uri)
	}
}

// close ends all subscriptions, whose session is closed already.
func (w *watches) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.running.Wait()
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
