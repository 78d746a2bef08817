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
	forHost                // nothing of the server's
)

// phaseTimer ends an exchange whose server is too slow. One clock serves all
// phases, one after the other. All but taken is called by the goroutine that
// carries the exchange.
type phaseTimer struct {
	limits *capability.Limits
	cancel context.CancelCauseFunc
	phase  atomic.Int32
	clock  *clock // got by the first begin
	runs   bool   // the clock was set, and not stopped since
	fired  bool   // it ran out before it was stopped, or may have
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

// await starts to wait for p, and for nothing else any more.
func (w *phaseTimer) await(p phase) {
	w.phase.Store(int32(p))
	if w.clock == nil {
		w.clock = clocks.Get().(*clock)
		w.clock.owner.Store(w)
	}
	w.mark(w.clock.timer.Reset(w.limit(p)), true)
}

// mark keeps what a change of the clock tells: whether it still ran, and whether
// it runs now.
func (w *phaseTimer) mark(ran, runs bool) {
	w.fired = w.fired || w.runs && !ran
	w.runs = runs
}

// onSent is called by the goroutine of net/http that sends a request, each time
// that it takes some of it. The answer may have begun before all is sent; what
// is waited for is the answer then.
func (w *phaseTimer) onSent(all bool) {
	next := forUpload
	if all {
		next = forHead
	}
	if now := w.phase.Load(); phase(now) <= forUpload && w.phase.CompareAndSwap(now, int32(next)) {
		w.clock.timer.Reset(w.limit(next))
	}
}

// stop stops the clock: it is not the server that is waited for. A clock that
// runs out or is set once more while this is going on finds that out by itself.
func (w *phaseTimer) stop() {
	w.phase.Store(int32(forHost))
	if w.clock != nil {
		w.mark(w.clock.timer.Stop(), false)
	}
}

// recycle gives the clock back to the pool, if nothing has called
// taken: nothing may set it for us any more then. One that rang is kept, because
// its goroutine may still be on the way here.
func (w *phaseTimer) recycle() {
	w.stop()
	if w.clock != nil && !w.fired {
		clocks.Put(w.clock)
		w.clock = nil
	}
}

func (w *phaseTimer) limit(p phase) time.Duration {
	switch p {
	case forUpload:
		return w.limits.Stall
	case forBody:
		return w.limits.Body
	case forStream:
		return w.limits.Idle
	}
	return w.limits.Head
}

func (w *phaseTimer) expire() {
	if p := phase(w.phase.Load()); p != forHost {
		w.cancel(&phaseTimeout{p, w.limit(p)})
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

// Status is what a guest may know of it.
func (e *phaseTimeout) Status() abi.Status {
	if e.phase == forUpload {
		return abi.Stalled
	}
	return abi.TimedOut
}
