package session

import (
	"context"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
)

// uriSub is a resource that subscriptions are about. A legacy server knows the
// session, and not which of its subscriptions wants what: so what it is asked about
// one resource goes out one at a time, in order, and it is taken off when the last
// who wanted it has left. What it does not answer holds up no other resource.
type uriSub struct {
	turn   ctxmutex.Mutex // held while the server is asked about it
	wanted int            // by so many subscriptions
}

// uriSubs are the resources that subscriptions want or are asking about, by URI. They are
// guarded by the mutex of the subscribers.
type uriSubs map[string]*uriSub

// want counts one more who wants each of them.
func (ts *uriSubs) want(uris []string) {
	if *ts == nil {
		*ts = make(uriSubs)
	}
	for _, uri := range uris {
		t := (*ts)[uri]
		if t == nil {
			t = &uriSub{turn: ctxmutex.New()}
			(*ts)[uri] = t
		}
		t.wanted++
	}
}

// inTurn calls do when it is its turn to ask about a resource, or returns when ctx
// ends. The caller wants that resource, or does until do has renounced it: a
// caller that comes later finds the same uriSub, and waits.
func (a *subscribers) inTurn(ctx context.Context, uri string, do func() error) error {
	a.mu.Lock()
	t := a.uriSubs[uri]
	a.mu.Unlock()
	if err := t.turn.Lock(ctx); err != nil {
		return err
	}
	defer a.pass(uri, t)
	return do()
}

// pass ends a turn of inTurn: it unlocks t for the next caller, and deletes it if no
// subscription wants the resource.
func (a *subscribers) pass(uri string, t *uriSub) {
	a.mu.Lock()
	if t.wanted == 0 {
		delete(a.uriSubs, uri)
	}
	a.mu.Unlock()
	t.turn.Unlock()
}

// renounce takes off one who wanted a resource, in whose turn it is called, and
// reports whether that was the last.
func (a *subscribers) renounce(uri string) (last bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.uriSubs[uri]
	t.wanted--
	return t.wanted == 0
}
