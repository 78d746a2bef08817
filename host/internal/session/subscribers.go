package session

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// subscribers is the subscriptions of a session.
type subscribers struct {
	turn ctxmutex.Mutex // held while a stream is opened

	mu      sync.Mutex
	closed  bool // no more are admitted
	members map[*Subscription]struct{}
	uriSubs map[string]*uriSub // the resources that they want or ask about, by URI
	running sync.WaitGroup
}

// uriSub is a resource that subscriptions are about. A legacy server knows only the session,
// and not which of its subscriptions wants what. So requests about one resource go out one at
// a time, in order. The session unsubscribes from the resource when the last subscription
// that wanted it has left. A request that the server does not answer holds up no other
// resource.
type uriSub struct {
	turn   ctxmutex.Mutex // held while the server is asked about it
	wanted int            // by so many subscriptions
}

// add makes u a member, whose run ends with Done. It returns false if it is too late.
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

func (a *subscribers) all() []*Subscription {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Keys(a.members))
}

// hear passes a change on to the subscriptions that it is for. If the resource was not
// subscribed to, it is taken for a part of one that was.
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

// control takes the notifications about a stream itself: its acknowledgement, and its end.
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

// inTurn calls do when it is its turn to ask about a resource, or returns when ctx ends. The
// caller wants that resource, at least until do has unsubscribed from it: so a caller that
// comes later finds the same uriSub, and waits. When the last has left, it is deleted.
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
