package session

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// Subscription reports changes, over reconnections, until it or its session is closed. It makes the
// connection that it needs itself, with growing pauses between the attempts.
type Subscription struct {
	session *Session
	filter  mcp.Filter
	ctx     context.Context
	cancel  context.CancelCauseFunc
	wake    chan struct{} // holds a token when there may be something for Next
	over    chan struct{} // closed when err is set: no more changes are taken

	mu       sync.Mutex
	honoured mcp.Filter
	binding  binding
	pending  []mcp.Change
	err      error
}

// binding says where a subscription listens now. The zero value means nowhere.
type binding struct {
	inbox   *inbox
	after   uint64 // modern: the request that opens the stream has a greater id
	id      string // the id that the notifications carry, as written
	opening chan struct{}
	shut    context.CancelCauseFunc
}

// errUnsubscribed is the error of a subscription after Close.
var errUnsubscribed = fmt.Errorf("the subscription is closed: %w", ErrClosed)

// Subscribe asks for the changes that the filter names, and returns when the server has agreed. The
// server may agree to fewer, see [Subscription.Honoured].
//
// In the modern era a subscription is a stream of its own
// (2026-07-28/basic/patterns/subscriptions). In the legacy era the server announces changes of
// lists to every client, and a client subscribes only to resources (2025-11-25/server/resources).
func (s *Session) Subscribe(ctx context.Context, f mcp.Filter) (*Subscription, error) {
	u := &Subscription{
		session: s, filter: f, wake: make(chan struct{}, 1), over: make(chan struct{}),
	}
	u.filter.URIs = slices.Compact(slices.Sorted(slices.Values(f.URIs)))
	u.ctx, u.cancel = context.WithCancelCause(s.ctx)
	var err error
	switch {
	case u.filter.Empty():
		err = errors.New("there is nothing to subscribe to")
	case !s.subscribers.add(u):
		err = ErrClosed
	default:
		ready := make(chan error, 2) // has room for the outcome of opening and for the end
		go u.run(ready)
		select {
		case err = <-ready:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		u.cancel(errUnsubscribed)
		return nil, fmt.Errorf("subscribe on %s: %w", s.cfg.Name, err)
	}
	return u, nil
}

// Honoured returns which changes the server has agreed to report: the filter, or a part of
// it.
func (u *Subscription) Honoured() mcp.Filter {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.honoured
}

// ID returns the present name of the subscription at a modern server, as JSON. It differs on each
// connection. For a legacy server, which has no such name, it is "".
func (u *Subscription) ID() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.binding.id
}

// Close ends the subscription. It does not wait until the server knows.
func (u *Subscription) Close() error {
	u.cancel(errUnsubscribed)
	return nil
}

// Next waits for a change. Changes come in the order of their first announcement. A change that is
// announced again before Next has returned it comes once. After the end of the subscription the
// error gives the reason, which is an [ErrClosed] if nothing went wrong.
func (u *Subscription) Next(ctx context.Context) (mcp.Change, error) {
	for {
		if c, ok := u.take(); ok {
			return c, nil
		}
		select {
		case <-u.wake:
		case <-u.over:
			if c, ok := u.take(); ok {
				return c, nil
			}
			return mcp.Change{}, u.err
		case <-ctx.Done():
			return mcp.Change{}, context.Cause(ctx)
		}
	}
}

// take removes and returns the oldest change. If others are left, it puts the token back.
func (u *Subscription) take() (c mcp.Change, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.pending) == 0 {
		return c, false
	}
	c = u.pending[0]
	u.pending = slices.Delete(u.pending, 0, 1)
	if len(u.pending) > 0 {
		u.signal()
	}
	return c, true
}

func (u *Subscription) signal() {
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// Bounds of the changes that wait for Next. Further changes are dropped, and Next says that some
// were missed.
const (
	maxPending = 256
	maxURI     = 16 << 10 // bytes, unless the filter names this URI
)

// put adds a change for Next. The caller holds mu.
func (u *Subscription) put(c mcp.Change) {
	if len(c.URI) > maxURI && !slices.Contains(u.filter.URIs, c.URI) {
		c = mcp.Change{Kind: mcp.Missed}
	}
	switch {
	case slices.Contains(u.pending, c):
		return
	case len(u.pending) >= maxPending:
		u.pending = append(u.pending[:0], mcp.Change{Kind: mcp.Missed})
	default:
		u.pending = append(u.pending, c)
	}
	u.signal()
}

// hear takes a change that came through an inbox, if it is for u. In the modern era the id of the
// notification decides, in the legacy era its resource or list. A legacy server may name a part of
// the resource; loose accepts that.
func (u *Subscription) hear(in *inbox, id string, c mcp.Change, loose bool) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.binding.inbox != in || u.binding.opening != nil || u.binding.id != "" && u.binding.id != id {
		return false
	}
	covered := covers(&u.honoured, c, loose || u.binding.id != "")
	if covered {
		u.put(c)
	}
	return covered
}

// covers reports whether a filter includes a change. If loose is true, a change of a part of a
// resource counts as a change of the resource.
func covers(f *mcp.Filter, c mcp.Change, loose bool) bool {
	switch c.Kind {
	case mcp.ToolsChanged:
		return f.Tools
	case mcp.PromptsChanged:
		return f.Prompts
	case mcp.ResourcesChanged:
		return f.Resources
	case mcp.TaskChanged:
		return slices.Contains(f.Tasks, c.Task)
	}
	return loose && len(f.URIs) > 0 || slices.Contains(f.URIs, c.URI)
}

// pauses are how long a subscription waits before each new attempt. The last one repeats. Each
// pause is longer or shorter by up to a quarter, so that many hosts do not come back at the same
// moment.
var pauses = []time.Duration{
	500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 30 * time.Second,
}

// steady is how long a subscription has to last until its next attempt begins with the first of
// pauses again.
const steady = 60 * time.Second

// run keeps the subscription until its end. The outcome of the first attempt goes to ready, which
// must have room for two values, since a caller that left early reads neither.
func (u *Subscription) run(ready chan<- error) {
	var l *agreedConn
	var err error
	settled := false
	opened := func() {
		if !settled {
			ready <- nil
			settled = true
		}
	}
	for tries := 0; u.ctx.Err() == nil; tries++ {
		began := time.Now()
		l, err = u.hold(opened)
		u.listen(binding{})
		if final := l != nil && (answered(err) || errors.Is(err, ErrUnsupported)); final || !settled {
			break
		}
		if time.Since(began) > steady {
			tries = 0
		}
		pause := pauses[min(tries, len(pauses)-1)]
		select {
		case <-time.After(pause*3/4 + rand.N(pause/2)):
		case <-u.ctx.Done():
		}
	}
	if u.ctx.Err() != nil {
		err = context.Cause(u.ctx)
		if u.session.isClosed() {
			err = ErrClosed
		}
	}
	ready <- err
	u.mu.Lock()
	u.err = err
	u.mu.Unlock()
	close(u.over) // Next does not wait until the server has been told
	u.leave(l)
	u.session.subscribers.running.Done()
}

// hold keeps the subscription on one connection until that ends. It returns the connection, or nil
// if there was none.
func (u *Subscription) hold(opened func()) (*agreedConn, error) {
	from := u.session.cfg.Connections.Acquire
	if !u.needsServer() && !u.Honoured().Empty() { // it was agreed before
		from = u.session.cfg.Connections.Await
	}
	l, err := u.session.connection(u.ctx, from)
	if err != nil {
		return nil, u.session.unsent(mcp.MethodSubscribe, err)
	}
	if l.dialect.era == mcp.Modern {
		return l, u.session.explain(l, u.holdModern(l, opened))
	}
	return l, u.session.explain(l, u.holdLegacy(l, opened))
}

// needsServer reports whether the subscription needs a running server. One to lists only does not:
// the lists of a server that is not running do not change.
func (u *Subscription) needsServer() bool { return len(u.filter.URIs)+len(u.filter.Tasks) > 0 }

// agree stores the changes that the server has agreed to. It reports whether the server had agreed
// before, on a stream or connection that has ended.
func (u *Subscription) agree(honoured mcp.Filter) (again bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	again = !u.honoured.Empty()
	u.honoured = honoured
	return again
}

// miss reports that changes may have been missed since the last connection. It is called once the
// server announces changes again: a caller that then asks anew learns of all changes after the
// answer.
func (u *Subscription) miss() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.session.expireLists(&u.filter)
	u.put(mcp.Change{Kind: mcp.Missed})
}

func (u *Subscription) listen(e binding) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.binding = e
}

// holdLegacy subscribes to the resources. It returns when the connection, or the server's session
// on it, is replaced. It listens before it subscribes, because the server may report a change
// before it answers.
func (u *Subscription) holdLegacy(l *agreedConn, opened func()) error {
	honoured := mcp.Filter{ // what the server declares
		Tools:     u.filter.Tools && l.declares("tools", "listChanged"),
		Prompts:   u.filter.Prompts && l.declares("prompts", "listChanged"),
		Resources: u.filter.Resources && l.declares("resources", "listChanged"),
	}
	if l.declares(hasUpdates.path...) {
		honoured.URIs = u.filter.URIs
	}
	if l.declares("tasks") {
		honoured.Tasks = u.filter.Tasks
	}
	if honoured.Empty() {
		return &unsupportedError{want: "any of the changes asked for", have: namesOf(l.info.Capabilities)}
	}
	s := u.session
	again := u.agree(honoured)
	u.listen(binding{inbox: l.inbox})
	for _, uri := range honoured.URIs {
		subscribe := func() error { return s.requestAbout(u.ctx, l, mcp.MethodSubscribe, uri) }
		if err := s.subscribers.inTurn(u.ctx, uri, subscribe); err != nil {
			return err
		}
	}
	if again {
		u.miss()
	}
	opened()
	select {
	case <-l.Done():
	case <-l.retired.Done():
	case <-u.ctx.Done():
	}
	return errTornDown
}

// leave unsubscribes from the resources that no other subscription wants, on the last connection,
// which may be nil. It stops when the server does not answer.
func (u *Subscription) leave(l *agreedConn) {
	s, all := u.session, &u.session.subscribers
	all.mu.Lock()
	delete(all.members, u)
	all.mu.Unlock()
	tell := l.alive() && l.dialect.era == mcp.Legacy && l.declares(hasUpdates.path...)
	for _, uri := range u.filter.URIs {
		err := all.inTurn(s.ctx, uri, func() error {
			all.mu.Lock()
			t := all.uriSubs[uri]
			t.wanted--
			last := t.wanted == 0
			all.mu.Unlock()
			if !last || !tell {
				return nil
			}
			return s.requestAbout(s.ctx, l, mcp.MethodUnsubscribe, uri) // after an error, further updates are ignored
		})
		tell = tell && (err == nil || answered(err))
	}
}

// requestAbout sends a request about a resource. The request has a timeout even if others have
// none, because the next caller waits for its turn.
func (s *Session) requestAbout(ctx context.Context, l *agreedConn, method, uri string) error {
	_, _, err := s.try(ctx, l, &request{method: method, given: map[string]any{"uri": uri}, limit: l.replyTimeout()})
	return err
}
