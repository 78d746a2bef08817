package manager

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"github.com/wharf-mcp/wharf/host/status"
)

// ErrRegistryClosed is what [Subscription.Next] returns after the last update.
var ErrRegistryClosed = errors.New("the status registry is closed")

// StatusRegistry holds the statuses of many servers, and passes each change to subscribers. Writing
// to it never waits for them. All methods may be called from any goroutine.
type StatusRegistry struct {
	mu      sync.Mutex
	last    uint64 // the newest ID
	seq     uint64
	shown   map[uint64]*status.Update // the newest update of each server
	readers map[*Subscription]struct{}
	closed  bool
}

func newStatusRegistry() *StatusRegistry {
	return &StatusRegistry{shown: make(map[uint64]*status.Update), readers: make(map[*Subscription]struct{})}
}

// Statuses returns the statuses of all servers, ordered by name.
func (b *StatusRegistry) Statuses() []status.Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make([]status.Status, 0, len(b.shown))
	for _, n := range b.shown {
		all = append(all, n.Status)
	}
	slices.SortFunc(all, func(x, y status.Status) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID))
	})
	return all
}

// status returns the status of a server. ok is false if the registry does not have it.
func (b *StatusRegistry) status(id uint64) (s status.Status, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := b.shown[id]; n != nil {
		return n.Status, true
	}
	return s, false
}

// Subscribe returns a subscription that begins with one update for each present server. In a closed
// registry it ends after those.
func (b *StatusRegistry) Subscribe() *Subscription {
	s := &Subscription{
		registry: b, news: make(map[uint64]status.Update), told: make(map[uint64]struct{}),
		ready: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.shown {
		s.news[n.ID] = *n
		s.queue = append(s.queue, n.ID)
	}
	slices.SortFunc(s.queue, func(x, y uint64) int { return cmp.Compare(s.news[x].Seq, s.news[y].Seq) })
	s.wake()
	if b.closed {
		close(s.ended)
	} else {
		b.readers[s] = struct{}{}
	}
	return s
}

// Close ends all subscriptions once they have been read to their end. The statuses stay readable.
func (b *StatusRegistry) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.readers {
		close(s.ended)
	}
	clear(b.readers)
	b.closed = true
}

// add adds a server.
func (b *StatusRegistry) add(name string, s status.Status) (id uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last++
	s.ID, s.Name = b.last, name
	n := &status.Update{Status: s}
	b.shown[n.ID] = n
	b.publish(n)
	return n.ID
}

// post sets the part of a status that the machine knows. If there is no connection any more, the
// list of tools becomes stale, because the server could not report a change.
func (b *StatusRegistry) post(id uint64, s status.Status) {
	b.edit(id, func(n *status.Update) bool {
		n.State, n.Reason, n.Since, n.Err, n.Attempt, n.Next = s.State, s.Reason, s.Since, s.Err, s.Attempt, s.Next
		switch s.State {
		case status.Connected, status.AuthRequired, status.Closing:
		default:
			n.Stale = n.Stale || n.Tools > 0
		}
		return true
	})
}

// report applies change to a status.
func (b *StatusRegistry) report(id uint64, change func(*status.Status)) {
	b.edit(id, func(n *status.Update) bool {
		old := n.Status
		change(&n.Status)
		now := n.Status
		old.Err, now.Err = nil, nil // some errors cannot be compared
		return now != old
	})
}

// remove removes a server.
func (b *StatusRegistry) remove(id uint64) {
	b.edit(id, func(n *status.Update) bool {
		n.Gone = true
		delete(b.shown, id)
		return true
	})
}

// edit applies change to an update, and passes that to subscribers if change returns true.
func (b *StatusRegistry) edit(id uint64, change func(*status.Update) (news bool)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := b.shown[id]; n != nil && !b.closed && change(n) {
		b.publish(n)
	}
}

func (b *StatusRegistry) publish(n *status.Update) {
	b.seq++
	n.Seq = b.seq
	for s := range b.readers {
		s.put(n)
	}
}
