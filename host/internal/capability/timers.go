package capability

import (
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

const (
	maxTimers = abi.MaxTimers
	minTimer  = abi.MinTimer * time.Millisecond // a shorter wait is made as long as this
)

// Timers are the timers of one guest. A timer is known by a number that the
// guest chose, and can be set again at any time.
//
// A timer that fired waits to be claimed. Before that it may be set again or cancelled, and
// then the claim fails. The owner of the guest claims a timer when it handles the event,
// so a stale timer never reaches the guest.
type Timers struct {
	fire func(id uint32)

	mu      sync.Mutex
	set     map[uint32]*timer
	stopped bool
}

type timer struct {
	clock *time.Timer
	fired bool
}

// Timers implements [hostio.Host]. The caller stops the timers; Close does not.
func (t *Table) Timers(fire func(id uint32)) hostio.Timers { return NewTimers(fire) }

// NewTimers returns an empty set. fire is called from a goroutine of its own,
// once for each time that a timer was set and neither set again nor cancelled
// in time; it must not block.
func NewTimers(fire func(id uint32)) *Timers {
	return &Timers{fire: fire, set: map[uint32]*timer{}}
}

// Set makes timer id fire once, after the given time and at least 10 ms, and replaces its previous
// setting. Zero cancels the timer. At most [abi.MaxTimers] can be set; a timer counts until it is
// claimed or cancelled.
func (t *Timers) Set(id uint32, after time.Duration) abi.Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(id)
	switch {
	case t.stopped:
		return abi.Closed
	case after <= 0:
		return abi.OK
	case len(t.set) >= maxTimers:
		return abi.LimitReached
	}
	entry := &timer{}
	entry.clock = time.AfterFunc(max(after, minTimer), func() { t.ring(id, entry) })
	t.set[id] = entry
	return abi.OK
}

// Claim reports whether timer id has fired since it was last set, and removes it from the set.
func (t *Timers) Claim(id uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry := t.set[id]
	if entry == nil || !entry.fired {
		return false
	}
	delete(t.set, id)
	return true
}

// Stop cancels all timers for good. Set refuses later ones.
func (t *Timers) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	for id := range t.set {
		t.drop(id)
	}
}

// ring marks the timer as fired, unless it was set again or cancelled after its clock ran
// out.
func (t *Timers) ring(id uint32, entry *timer) {
	t.mu.Lock()
	current := t.set[id] == entry
	entry.fired = current
	t.mu.Unlock()
	if current {
		t.fire(id)
	}
}

// drop cancels a timer, if it is set. A clock that can no longer be stopped finds its entry gone.
func (t *Timers) drop(id uint32) {
	if entry := t.set[id]; entry != nil {
		entry.clock.Stop()
		delete(t.set, id)
	}
}
