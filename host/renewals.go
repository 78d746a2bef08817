package host

import (
	"context"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/session"
)

// changed asks again for the lists that the server says have changed. It returns at once.
func (s *Session) changed() {
	if s.host.config.OneShot || !s.renewals.want() {
		return
	}
	ctx, over, err := s.host.begin(s.inner.Lifetime())
	if err != nil {
		return
	}
	go func() {
		defer over()
		s.renewals.run(ctx, s.renewChanged)
	}()
}

// renewChanged asks for the lists that are out of date, over the current connection or the next.
func (s *Session) renewChanged(ctx context.Context) {
	s.showStale()
	entry := s.entry.Load()
	c, err := s.driver.Acquire(ctx)
	if err != nil {
		return // the next connection renews them
	}
	if tools := s.inner.Renew(ctx, c.(*session.Conn)); tools != nil {
		s.learn(entry, tools)
	}
}

// renewals puts the renewals of a session's lists in order. The server has said that these lists
// changed. The first renewal begins at once, further ones one at a time after pauses that double.
// The pauses are there because a server may report a change in answer to each request for a list.
type renewals struct {
	mu             sync.Mutex
	running, again bool
}

const (
	renewPause    = time.Second
	maxRenewPause = time.Minute
)

// want asks for a renewal, and reports whether the caller must run it.
func (r *renewals) want() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	idle := !r.running
	r.running, r.again = true, true
	return idle
}

// run renews until no renewal is wanted. When ctx ends, it does not wait any more.
func (r *renewals) run(ctx context.Context, renew func(context.Context)) {
	for pause := renewPause; r.next(); pause = min(2*pause, maxRenewPause) {
		renew(ctx)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// next reports whether a list has changed since the last renewal began. If not, run ends.
func (r *renewals) next() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running, r.again = r.again, false
	return r.running
}
