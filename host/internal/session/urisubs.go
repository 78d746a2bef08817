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

// inTurn calls do when it is its turn to ask about a resource, or returns when ctx
// ends. The caller wants that resource, or does until do has taken it off: a caller that
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
