package session

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// subscribers holds the subscriptions of a session.
type subscribers struct {
	turn ctxmutex.Mutex // held while a stream is opened

	mu      sync.Mutex
	closed  bool // no more subscriptions are admitted
	members map[*Subscription]struct{}
	uriSubs map[string]*uriSub // the resources that the subscriptions want or request, by URI
	running sync.WaitGroup
}

// uriSub is a resource that subscriptions are about. A legacy server knows only the session, and
// not which of its subscriptions wants the resource. So requests about one resource go out one at a
// time, in order. The session unsubscribes when the last subscription that wanted the resource has
// left. A request that the server does not answer holds up no other resource.
type uriSub struct {
	turn   ctxmutex.Mutex // held during a request about it
	wanted int            // the number of subscriptions that want it
}

// add makes u a member, whose run must call Done. It returns false if the session is closing.
func (a *subscribers) add(u *Subscription) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	if a.members == nil {
		a.members, a.uriSubs = make(map[*Subscription]struct{}), make(map[string]*uriSub)
	}
	a.members[u] = struct{}{}
	for _, uri := range u.filter.URIs {
		if a.uriSubs[uri] == nil {
			a.uriSubs[uri] = &uriSub{turn: ctxmutex.New()}
		}
		a.uriSubs[uri].wanted++
	}
	a.running.Add(1)
	return true
}

// Watching reports whether a subscription to a resource or a task is open.
func (s *Session) Watching() bool {
	return slices.ContainsFunc(s.subscribers.all(), (*Subscription).needsServer)
}

func (a *subscribers) all() []*Subscription {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Keys(a.members))
}

// hear passes a change to the subscriptions that it concerns. If no subscription names its
// resource, that resource counts as a part of each resource that a subscription names.
func (a *subscribers) hear(in *inbox, params []byte, c mcp.Change) {
	members, id := a.all(), ""
	if len(members) > 0 {
		id = subscriptionID(params)
	}
	heard := false
	for _, loose := range []bool{false, true} {
		if heard || loose && c.Kind != mcp.ResourceUpdated {
			return
		}
		for _, u := range members {
			heard = u.hear(in, id, c, loose) || heard
		}
	}
}

// control handles the notifications about a stream itself: its acknowledgement, and its end.
func (a *subscribers) control(in *inbox, method string, params []byte) {
	if method == mcp.NotificationCancelled {
		id := string(member(params, "requestId"))
		for _, u := range a.all() {
			u.mu.Lock()
			e := u.binding
			u.mu.Unlock()
			if e.inbox == in && e.id != "" && e.id == id {
				e.shut(errTornDown)
			}
		}
		return
	}
	id, honoured, err := readAcknowledged(params)
	if id == "" {
		return
	}
	for _, u := range a.all() {
		if u.acknowledge(in, id, honoured, err) {
			return
		}
	}
}

// inTurn waits until no other request about the resource is under way, and calls do. If ctx ends
// first, it returns an error. The caller must be counted in wanted, which only do may reduce: so a
// later caller finds the same uriSub and waits for its turn. When nothing wants the resource any
// more, inTurn deletes the uriSub.
func (a *subscribers) inTurn(ctx context.Context, uri string, do func() error) error {
	a.mu.Lock()
	t := a.uriSubs[uri]
	a.mu.Unlock()
	if err := t.turn.Lock(ctx); err != nil {
		return err
	}
	defer func() {
		a.mu.Lock()
		if t.wanted == 0 {
			delete(a.uriSubs, uri)
		}
		a.mu.Unlock()
		t.turn.Unlock()
	}()
	return do()
}
