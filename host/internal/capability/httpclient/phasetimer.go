package httpclient

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
)

// phase is what an exchange waits for.
type phase int32

const (
	forHead   phase = iota // the head of the response
	forUpload              // that the server takes more of the request
	forBody                // the end of a body that is no event stream
	forStream              // the next bytes of an event stream
	forHost                // something that is not up to the server
)

// phaseTimer ends an exchange whose server is too slow. One clock serves all phases in turn. Only
// the goroutine that runs the exchange calls its methods, except onSent.
type phaseTimer struct {
	limits *capability.Limits
	cancel context.CancelCauseFunc
	phase  atomic.Int32
	clock  *clock // got by the first await
	runs   bool   // the clock is set
	fired  bool   // it fired before it was stopped, or may have
}

// clock is a timer that phase timers use in turn. Making one costs as much as
// using it for a whole exchange.
type clock struct {
	timer *time.Timer
	owner atomic.Pointer[phaseTimer]
}

var clocks = sync.Pool{New: func() any {
	c := &clock{}
	c.timer = time.AfterFunc(time.Hour, func() { c.owner.Load().expire() })
	c.timer.Stop()
	return c
}}

// await starts to wait for p and ends the phase before.
func (t *phaseTimer) await(p phase) {
	t.phase.Store(int32(p))
	if t.clock == nil {
		t.clock = clocks.Get().(*clock)
		t.clock.owner.Store(t)
	}
	t.mark(t.clock.timer.Reset(t.limit(p)), true)
}

// mark records a change of the clock: whether it was set before, and whether it is set now.
func (t *phaseTimer) mark(ran, runs bool) {
	t.fired = t.fired || t.runs && !ran
	t.runs = runs
}

// onSent is called by net/http's goroutine that sends a request, each time that it takes some
// bytes. The answer may begin before all is sent: the timer then waits for the answer.
func (t *phaseTimer) onSent(all bool) {
	next := forUpload
	if all {
		next = forHead
	}
	if now := t.phase.Load(); phase(now) <= forUpload && t.phase.CompareAndSwap(now, int32(next)) {
		t.clock.timer.Reset(t.limit(next))
	}
}

// stop stops the clock, because the exchange does not wait for the server now. A clock that fires,
// or is set again, during stop finds the phase forHost and does nothing.
func (t *phaseTimer) stop() {
	t.phase.Store(int32(forHost))
	if t.clock != nil {
		t.mark(t.clock.timer.Stop(), false)
	}
}

// recycle gives the clock back to the pool. It must not be called if onSent was called, because
// net/http may then still set the clock for this timer. A clock that fired does not go back to the
// pool, because its goroutine may still be on the way to this timer.
func (t *phaseTimer) recycle() {
	t.stop()
	if t.clock != nil && !t.fired {
		clocks.Put(t.clock)
		t.clock = nil
	}
}

func (t *phaseTimer) limit(p phase) time.Duration {
	switch p {
	case forUpload:
		return t.limits.Stall
	case forBody:
		return t.limits.Body
	case forStream:
		return t.limits.Idle
	}
	return t.limits.Head
}

func (t *phaseTimer) expire() {
	if p := phase(t.phase.Load()); p != forHost {
		t.cancel(&phaseTimeout{p, t.limit(p)})
	}
}

// phaseTimeout is the error of a phase that took too long.
type phaseTimeout struct {
	phase phase
	after time.Duration
}

func (e *phaseTimeout) Error() string {
	switch e.phase {
	case forUpload:
		return fmt.Sprintf("server has not read the request for %s", e.after)
	case forBody:
		return fmt.Sprintf("the answer was not complete after %s", e.after)
	case forStream:
		return fmt.Sprintf("nothing came on the event stream for %s", e.after)
	}
	return fmt.Sprintf("no answer for %s", e.after)
}

// Status returns the status for the guest.
func (e *phaseTimeout) Status() abi.Status {
	if e.phase == forUpload {
		return abi.Stalled
	}
	return abi.TimedOut
}
