package gateway

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// subscription is one subscription of a client. It continues when the client moves to a session of
// its own.
type subscription struct {
	upstream *upstream
	filter   mcp.Filter
	caller   *policy.Caller // nil if it does not matter who calls

	mu     sync.Mutex
	closed bool
	tenant *tenant // its session reports the changes
	inner  *host.Subscription
}

// subscriptionSet has the subscriptions of a client to a server.
type subscriptionSet struct {
	mu     sync.Mutex
	closed bool
	all    []*subscription
}

// subscribe asks the server to report changes, until the subscription is closed or the client
// leaves.
func (u *upstream) subscribe(ctx context.Context, filter mcp.Filter) (*subscription, error) {
	s := &subscription{upstream: u, filter: filter, caller: policy.CallerOf(as(ctx, u.caller))}
	if !u.subscribed.add(s) { // first, so that no change is missed
		return nil, host.ErrClosed
	}
	if err := s.begin(ctx); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// begin subscribes at the client's present session.
func (s *subscription) begin(ctx context.Context) error {
	t, err := s.upstream.present()
	if err != nil {
		return err
	}
	inner, err := t.copy.session.Subscribe(host.WithOptions(as(ctx, s.caller), t.options()), s.filter)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.tenant, s.inner = t, inner
	closed := s.closed
	s.mu.Unlock()
	if closed || !s.upstream.isPresent(t) { // Close and restart did not see it
		inner.Close()
	}
	return nil
}

// restartPause is the time between attempts to begin a subscription anew.
const restartPause = 5 * time.Second

// Next waits for a change that concerns the client, and returns it. If changes may have been
// missed because the client moved to another session, Next returns a change of the kind Missed.
func (s *subscription) Next(ctx context.Context) (mcp.Change, error) {
	for {
		s.mu.Lock()
		t, inner := s.tenant, s.inner
		s.mu.Unlock()
		change, err := inner.Next(ctx)
		switch {
		case err == nil && (change.Kind != mcp.ResourceUpdated || !t.copy.mixed.Load() || covers(&s.filter, change.URI)):
			return change, nil
		case err == nil:
			continue
		case s.upstream.isPresent(t) || ctx.Err() != nil:
			return change, err
		}
		for s.begin(ctx) != nil {
			select {
			case <-time.After(restartPause):
			case <-s.upstream.ctx.Done():
				return change, context.Cause(s.upstream.ctx)
			case <-ctx.Done():
				return change, context.Cause(ctx)
			}
		}
		return mcp.Change{Kind: mcp.Missed}, nil
	}
}

// covers reports whether a filter names a resource, or another resource that it is a part of.
func covers(f *mcp.Filter, uri string) bool {
	return slices.ContainsFunc(f.URIs, func(named string) bool { return strings.HasPrefix(uri, named) })
}

// Honoured returns the changes that the server has agreed to report, see [host.Subscription].
func (s *subscription) Honoured() mcp.Filter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inner.Honoured()
}

// ID returns the id of the subscription at the server, see [host.Subscription].
func (s *subscription) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inner.ID()
}

// Close ends the subscription. It does not wait until the server knows.
func (s *subscription) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.restart()
	s.upstream.subscribed.remove(s)
	return nil
}

// restart ends the subscription at its session. Next then subscribes at the client's present
// session, or returns an error if there is none.
func (s *subscription) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inner != nil {
		s.inner.Close()
	}
}

// add adds a subscription. It returns false if the set is closed.
func (set *subscriptionSet) add(s *subscription) bool {
	set.mu.Lock()
	defer set.mu.Unlock()
	if !set.closed {
		set.all = append(set.all, s)
	}
	return !set.closed
}

func (set *subscriptionSet) remove(s *subscription) {
	set.mu.Lock()
	defer set.mu.Unlock()
	set.all = slices.DeleteFunc(set.all, func(other *subscription) bool { return other == s })
}

// has reports whether the client has subscribed to a resource, or to another resource that it is a
// part of.
func (set *subscriptionSet) has(uri string) bool {
	set.mu.Lock()
	defer set.mu.Unlock()
	return slices.ContainsFunc(set.all, func(s *subscription) bool { return covers(&s.filter, uri) })
}

// restart restarts all subscriptions.
func (set *subscriptionSet) restart() {
	set.mu.Lock()
	all := slices.Clone(set.all)
	set.mu.Unlock()
	for _, s := range all {
		s.restart()
	}
}

// close ends all subscriptions. The set takes no more.
func (set *subscriptionSet) close() {
	set.mu.Lock()
	set.closed = true
	all := slices.Clone(set.all)
	set.mu.Unlock()
	for _, s := range all {
		s.Close()
	}
}
