package capability

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// phase is what an exchange waits for.
type phase int32

const (
	forHead   phase = iota // the head of the response
	forTaking              // that the server takes more of the request
	forBody                // the end of a body that is no event stream
	forStream              // the next bytes of an event stream
	forUs                  // nothing of the server's
)

// patience ends an exchange whose server is too slow. One clock serves all
// phases, one after the other. All but taken is called by the goroutine that
// carries the exchange.
type patience struct {
	limits *Limits
	cancel context.CancelCauseFunc
	now    atomic.Int32
	clock  *clock // got by the first begin
	runs   bool   // the clock was set, and nobody has stopped it since
	rang   bool   // it ran out before anybody could, or may have
}

// clock is a timer that patiences have in turn. Making one costs as much as
// using it for a whole exchange.
type clock struct {
	timer *time.Timer
	owner atomic.Pointer[patience]
}

var clocks = sync.Pool{New: func() any {
	c := &clock{}
	c.timer = time.AfterFunc(time.Hour, func() { c.owner.Load().runOut() })
	c.timer.Stop()
	return c
}}

// begin starts to wait for p, and for nothing else any more.
func (w *patience) begin(p phase) {
	w.now.Store(int32(p))
	if w.clock == nil {
		w.clock = clocks.Get().(*clock)
		w.clock.owner.Store(w)
	}
	w.note(w.clock.timer.Reset(w.of(p)), true)
}

// note keeps what a change of the clock tells: whether it still ran, and whether
// it runs now.
func (w *patience) note(ran, runs bool) {
	w.rang = w.rang || w.runs && !ran
	w.runs = runs
}

// taken is called by the goroutine of net/http that sends a request, each time
// that it takes some of it. The answer may have begun before all is sent; what
// is waited for is the answer then.
func (w *patience) taken(all bool) {
	next := forTaking
	if all {
		next = forHead
	}
	if now := w.now.Load(); phase(now) <= forTaking && w.now.CompareAndSwap(now, int32(next)) {
		w.clock.timer.Reset(w.of(next))
	}
}

// rest stops the clock: it is not the server that is waited for. A clock that
// runs out or is set once more while this is going on finds that out by itself.
func (w *patience) rest() {
	w.now.Store(int32(forUs))
	if w.clock != nil {
		w.note(w.clock.timer.Stop(), false)
	}
}

// over gives the clock to the next one who needs it, when nobody has called
// taken: nothing may set it for us any more then. One that rang is kept, because
// its goroutine may still be on the way here.
func (w *patience) over() {
	w.rest()
	if w.clock != nil && !w.rang {
		clocks.Put(w.clock)
		w.clock = nil
	}
}

func (w *patience) of(p phase) time.Duration {
	switch p {
	case forTaking:
		return w.limits.Stall
	case forBody:
		return w.limits.Body
	case forStream:
		return w.limits.Idle
	}
	return w.limits.Head
}

func (w *patience) runOut() {
	if p := phase(w.now.Load()); p != forUs {
		w.cancel(&lateError{p, w.of(p)})
	}
}

// lateError is the end of a patience.
type lateError struct {
	phase phase
	after time.Duration
}

func (e *lateError) Error() string {
	switch e.phase {
	case forTaking:
		return fmt.Sprintf("server has not read the request for %s", e.after)
	case forBody:
		return fmt.Sprintf("the answer was not complete after %s", e.after)
	case forStream:
		return fmt.Sprintf("nothing came on the event stream for %s", e.after)
	}
	return fmt.Sprintf("no answer for %s", e.after)
}

// Status is what a guest may know of it.
func (e *lateError) Status() abi.Status {
	if e.phase == forTaking {
		return abi.Stalled
	}
	return abi.TimedOut
}
