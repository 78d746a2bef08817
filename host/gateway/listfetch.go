package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/catalogue"
)

// relistWait is the least time between two requests for the same list. A server that reports a change
// whenever it is asked for the list is asked once a second. One that fails is asked again after pauses
// that double, up to maxRelistWait.
const (
	relistWait    = time.Second
	maxRelistWait = 4 * time.Minute
)

// listFetch is one request to a server for a list.
type listFetch struct {
	neededSince time.Time     // when the client needed the list first
	done        chan struct{} // closed when the fetch is over, whether it has succeeded or not

	// Its goroutine alone uses these until done is closed:
	askedAt  time.Time   // when the server was asked last
	failures int         // how many fetches in a row have failed
	next     *time.Timer // begins the next fetch; nil for none

	repeat bool // another fetch must follow; guarded by the mu of the aggregate
}

// stop cancels the fetch that would follow. The caller holds mu of the aggregate.
func (f *listFetch) stop() {
	if isClosed(f.done) && f.next != nil {
		f.next.Stop()
	}
}

// fetchList begins to fetch a list of a server, and does not wait. It starts the server. After a failure
// it asks again, after growing pauses. If the list differs from what the client was told before, it tells
// the client. params are those of the request that needs the list.
func (a *aggregate) fetchList(server string, l *listing, params json.RawMessage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := listKey{server, l.kind}
	f := &listFetch{neededSince: time.Now(), done: make(chan struct{})}
	if before := a.fetches[key]; before != nil {
		if !isClosed(before.done) {
			before.repeat = true
			return
		}
		before.stop()
		f.neededSince, f.askedAt, f.failures = before.neededSince, before.askedAt, before.failures
	}
	if a.closed {
		return
	}
	a.fetches[key] = f
	params = onlyMeta(params)
	a.running.Go(func() {
		select {
		case <-time.After(time.Until(f.askedAt.Add(relistWait))):
		case <-a.ctx.Done():
		}
		f.askedAt = time.Now()
		b, err := a.backend(a.ctx, server, params)
		if err == nil {
			b.watch() // first, so that no change after the list is missed
			if err = b.upstream.call(a.ctx, l.ask); errors.Is(err, host.ErrUnsupported) {
				err = nil
			}
			a.learnLists(b)
		}
		a.mu.Lock()
		again := func() { a.fetchList(server, l, params) }
		switch {
		case a.closed:
		case err != nil: // the status of the server has the error
			f.next = time.AfterFunc(min(relistWait<<min(f.failures, 8), maxRelistWait), again)
			f.failures++
		case f.repeat:
			f.failures, f.next = 0, time.AfterFunc(0, again)
		default:
			f.failures = 0
		}
		close(f.done)
		a.mu.Unlock()
		a.announceIfChanged(key, l)
	})
}

// awaitList waits for the fetch of a list that is under way. It does not wait beyond [Config].ListWait
// after the client first needed the list.
func (a *aggregate) awaitList(ctx context.Context, server string, l *listing) {
	a.mu.Lock()
	f := a.fetches[listKey{server, l.kind}]
	a.mu.Unlock()
	if f == nil {
		return
	}
	select {
	case <-f.done:
	case <-time.After(time.Until(f.neededSince.Add(a.gateway.config.ListWait))):
	case <-ctx.Done():
	}
}

// askForURIs asks the servers that the client reaches for the lists of URIs that were not asked for yet, and waits for
// them as awaitList does. It returns the name of a server that has not answered, or "". Unlike awaitLists it asks once:
// a client may read many URIs that no server has.
func (a *aggregate) askForURIs(ctx context.Context, r *request) (silent string) {
	var asked []listKey
	for _, s := range a.reachable(r) {
		for kind := range uriMembers {
			if !a.lacksList(s.Name, listingOf(kind)) {
				continue
			}
			key := listKey{s.Name, kind}
			asked = append(asked, key)
			a.mu.Lock()
			begun := a.fetches[key] != nil // it asks again by itself
			a.mu.Unlock()
			if !begun {
				a.fetchList(s.Name, listingOf(kind), r.params)
			}
		}
	}
	if len(asked) > 0 {
		r.turn.pass() // requests to other servers do not wait for these lists
	}
	for _, key := range asked {
		a.awaitList(ctx, key.server, listingOf(key.kind))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range asked {
		if f := a.fetches[key]; silent == "" && (f == nil || !isClosed(f.done) || f.failures > 0) {
			silent = key.server
		}
	}
	return silent
}

// announceIfChanged tells the client that a list has changed, if the list differs from what the
// client was told before.
func (a *aggregate) announceIfChanged(key listKey, l *listing) {
	a.mu.Lock()
	items := a.servers.snapshot(key.server).Lists[l.kind].Items
	changed := a.listedKinds[l.kind] && !bytes.Equal(a.lastListed[key], items)
	if changed {
		a.lastListed[key] = items
	}
	searched := l.kind == catalogue.Tools && a.searches
	a.mu.Unlock()
	if changed && !(searched && a.gateway.searches(a.servers.merged(l))) { // else the same three tools are listed
		a.notifyListChanged(l)
	}
}

// learnLists adds what the session with a server knows to the cache, and tells the other clients that have been
// listed from the same cache: they may use nothing of the server yet, and so have no backend that hears of changes.
func (a *aggregate) learnLists(b *backend) {
	changed := a.servers.mergeSnapshot(b.server.Name, b.upstream.session().Snapshot())
	if len(changed) == 0 {
		return
	}
	for _, p := range a.gateway.presences() {
		other, all := p.client.(*aggregate)
		if !all || other == a || other.servers != a.servers {
			continue
		}
		other.mu.Lock()
		if !other.closed { // after leave, no goroutine may be added to running
			other.running.Go(func() {
				for _, kind := range changed {
					other.announceIfChanged(listKey{b.server.Name, kind}, listingOf(kind))
				}
			})
		}
		other.mu.Unlock()
	}
}

// refreshLists fetches anew the lists of a server that the client has seen. It is called when the
// client begins to use the server, because the lists may come from an earlier run.
func (a *aggregate) refreshLists(b *backend) {
	a.mu.Lock()
	listed := maps.Clone(a.listedKinds)
	a.mu.Unlock()
	for i := range listings {
		l := &listings[i]
		if _, known := a.servers.snapshot(b.server.Name).Lists[l.kind]; known && listed[l.kind] {
			a.fetchList(b.server.Name, l, b.params)
		}
	}
}
