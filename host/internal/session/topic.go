package session

import (
	"context"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
)

// topic is a resource that subscriptions are about. A legacy server knows the
// session, and not which of its subscriptions wants what: so what it is asked about
// one resource goes out one at a time, in order, and it is taken off when the last
// who wanted it has left. What it does not answer holds up no other resource.
type topic struct {
	turn   ctxmutex.Mutex // held while the server is asked about it
	wanted int            // by so many subscriptions
}

// topics are those that somebody wants, or is in turn at, by their URIs. They are
// guarded by the mutex of the audience.
type topics map[string]*topic

// want counts one more who wants each of them.
func (ts *topics) want(uris []string) {
	if *ts == nil {
		*ts = make(topics)
	}
	for _, uri := range uris {
		t := (*ts)[uri]
		if t == nil {
			t = &topic{turn: ctxmutex.New()}
			(*ts)[uri] = t
		}
		t.wanted++
	}
}

// inTurn calls do when it is its turn to ask about a resource, or returns when ctx
// ends. The caller wants that resource, or does until do has renounced it: whoever
// comes in later finds the same topic, and waits.
func (a *audience) inTurn(ctx context.Context, uri string, do func() error) error {
	a.mu.Lock()
	t := a.topics[uri]
	a.mu.Unlock()
	if err := t.turn.Lock(ctx); err != nil {
		return err
	}
	defer a.pass(uri, t)
	return do()
}

// pass gives the turn to the next, and forgets a topic that nobody wants.
func (a *audience) pass(uri string, t *topic) {
	a.mu.Lock()
	if t.wanted == 0 {
		delete(a.topics, uri)
	}
	a.mu.Unlock()
	t.turn.Unlock()
}

// renounce takes off one who wanted a resource, in whose turn it is called, and
// reports whether that was the last.
func (a *audience) renounce(uri string) (last bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.topics[uri]
	t.wanted--
	return t.wanted == 0
}
