package capability

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// bell writes down when timers fired. Like the mailbox of a guest it claims
// them later than they fire, where a test wants that.
type bell struct {
	mu    sync.Mutex
	start time.Time
	fired []uint32
	at    []time.Duration
}

func newBell() *bell { return &bell{start: time.Now()} }

func (b *bell) ring(id uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fired = append(b.fired, id)
	b.at = append(b.at, time.Since(b.start))
}

func (b *bell) want(t *testing.T, ids ...uint32) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Equal(b.fired, ids) {
		t.Errorf("fired %v, want %v", b.fired, ids)
	}
}

// later lets a time pass and everything that is due in it happen.
func later(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestTimerFiresOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBell()
		timers := NewTimers(b.ring)
		timers.Set(7, time.Second)
		if timers.Claim(7) {
			t.Error("a timer was claimed before it fired")
		}
		later(time.Hour)
		b.want(t, 7)
		if b.at[0] != time.Second {
			t.Errorf("it fired after %s", b.at[0])
		}
		if !timers.Claim(7) || timers.Claim(7) {
			t.Error("a fired timer is claimed once")
		}
	})
}

func TestTimerIsNeverFasterThanItsMinimum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBell()
		NewTimers(b.ring).Set(1, time.Microsecond)
		later(time.Hour)
		if b.at[0] != minTimer {
			t.Errorf("it fired after %s", b.at[0])
		}
	})
}

func TestCancelledTimerDoesNotFire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBell()
		timers := NewTimers(b.ring)
		timers.Set(1, time.Second)
		timers.Set(1, 0)
		later(time.Hour)
		b.want(t)
	})
}

func TestRearmedTimerFiresAtItsLastTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBell()
		timers := NewTimers(b.ring)
		timers.Set(1, time.Second)
		later(999 * time.Millisecond)
		timers.Set(1, time.Second)
		later(time.Hour)
		b.want(t, 1)
		if b.at[0] != 1999*time.Millisecond {
			t.Errorf("it fired after %s", b.at[0])
		}
	})
}

func TestStaleTimerCannotBeClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBell()
		timers := NewTimers(b.ring)
		timers.Set(1, time.Second)
		timers.Set(2, time.Second)
		later(time.Minute) // both wait in the mailbox
		timers.Set(1, time.Hour)
		timers.Set(2, 0)
		if timers.Claim(1) || timers.Claim(2) {
			t.Error("a timer was claimed that was set again or cancelled")
		}
		later(2 * time.Hour)
		if !timers.Claim(1) {
			t.Error("a timer could not be claimed after it was set again and fired")
		}
	})
}

// A clock that ran out while the timer was being set again is on its way to
// ring already, where Stop does not reach it.
func TestStaleClockDoesNotRing(t *testing.T) {
	b := newBell()
	timers := NewTimers(b.ring)
	timers.Set(1, time.Hour)
	stale := timers.set[1]
	timers.Set(1, time.Hour)
	timers.ring(1, stale)
	timers.Set(1, 0)
	timers.ring(1, stale)
	b.want(t)
	if timers.Claim(1) {
		t.Error("a stale timer was claimed")
	}
}

func TestTimersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBell()
		timers := NewTimers(b.ring)
		for id := range uint32(maxTimers) {
			if s := timers.Set(id, time.Second); s != abi.OK {
				t.Fatalf("timer %d: %v", id, s)
			}
		}
		if s := timers.Set(99, time.Second); s != abi.LimitReached {
			t.Errorf("one too many: %v", s)
		}
		if s := timers.Set(3, time.Second); s != abi.OK {
			t.Errorf("set again: %v", s)
		}
		later(time.Minute)
		if s := timers.Set(99, time.Second); s != abi.LimitReached {
			t.Errorf("while none is claimed: %v", s)
		}
		timers.Claim(0)
		if s := timers.Set(99, time.Second); s != abi.OK {
			t.Errorf("after one was claimed: %v", s)
		}
		timers.Stop()
	})
}

func TestStoppedTimersStayQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBell()
		timers := NewTimers(b.ring)
		timers.Set(1, time.Second)
		timers.Stop()
		timers.Stop()
		if s := timers.Set(2, time.Second); s != abi.Closed {
			t.Errorf("set after Stop: %v", s)
		}
		later(time.Hour)
		b.want(t)
	})
}
