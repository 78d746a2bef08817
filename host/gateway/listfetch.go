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
	done        chan struct{} // closed when it is over, whether or not the list is known then

	// Its goroutine alone uses these until done is closed:
	askedAt  time.Time   // when the server was asked last
	failures int         // how often in a row the list was not known then
	next     *time.Timer // begins the fetch that follows; nil for none

	repeat bool // another one has to follow; guarded by the mu of the aggregate
}

// stop has no other fetch follow. The caller holds mu of the aggregate.
func (f *listFetch) stop() {
	if isClosed(f.done) && f.next != nil {
		f.next.Stop()
	}
}

// fetchList asks a server for a list, and tells the client if that is not what it was told before. It
// starts the server. params are those of the request that needs the list. The server is asked again until
// it has listed what it has.
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
			b.watch() // first: else a change that comes behind the list is lost
			if err = b.upstream.call(a.ctx, l.ask); errors.Is(err, host.ErrUnsupported) {
				err = nil
			}
			a.gateway.mergeSnapshot(server, b.upstream.session().Snapshot())
		}
		a.mu.Lock()
		again := func() { a.fetchList(server, l, params) }
		switch {
		case a.closed:
		case err != nil: // status has it
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

// awaitList waits until a list is known or was asked for, and only as long as the client has waited for
// it less than firstListWait in all.
func (a *aggregate) awaitList(ctx context.Context, server string, l *listing) {
	a.mu.Lock()
	f := a.fetches[listKey{server, l.kind}]
	a.mu.Unlock()
	if f == nil || !a.lacksList(server, l) {
		return
	}
	select {
	case <-f.done:
	case <-time.After(time.Until(f.neededSince.Add(firstListWait))):
	case <-ctx.Done():
	}
}

// announceIfChanged tells the client that a list has changed, if it is not what it was told before.
func (a *aggregate) announceIfChanged(key listKey, l *listing) {
	a.mu.Lock()
	items := a.gateway.snapshot(key.server).Lists[l.kind].Items
	changed := a.listedKinds[l.kind] && !bytes.Equal(a.lastListed[key], items)
	if changed {
		a.lastListed[key] = items
	}
	searched := l.kind == catalogue.Tools && a.searches
	a.mu.Unlock()
	if changed && !(searched && a.gateway.searches(a.items(l))) { // else the same three tools are listed
		a.notifyListChanged(l)
	}
}

// refreshLists asks a server that the client has begun to use for the lists that the client knows of an
// earlier run.
func (a *aggregate) refreshLists(b *backend) {
	a.mu.Lock()
	listed := maps.Clone(a.listedKinds)
	a.mu.Unlock()
	for i := range listings {
		l := &listings[i]
		if _, known := a.gateway.snapshot(b.server.Name).Lists[l.kind]; known && listed[l.kind] {
			a.fetchList(b.server.Name, l, b.params)
		}
	}
}
