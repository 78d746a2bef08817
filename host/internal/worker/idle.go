package worker

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
)

// What a worker may use of the processor while nothing is asked of it, and how often
// that is looked at. An honest one needs next to nothing: its runtime tidies up
// after an event, and every two minutes. A limit of the operating system (RLIMIT_CPU)
// would be one for its whole life, and end the honest that live long.
const (
	idleSpare = 5 * time.Second  // in its life
	idleShare = 100              // and one in so many of the time that it lives
	idleLook  = 30 * time.Second // so a worker that spins is over after this and idleSpare
)

// idleWatch ends a worker that uses the processor between two events. What it uses
// during events is not told apart from the rest: for the time that they take it may
// have every processor there is. It looks where the system says what a process has
// used, which is Linux.
type idleWatch struct {
	machine *machine
	spare   time.Duration
	born    time.Time
	timer   *time.Timer
	worked  atomic.Int64 // nanoseconds of the events that are over
	since   atomic.Int64 // when the current one began, after born; -1 between two
}

// start begins to watch.
func (w *idleWatch) start(m *machine) {
	w.machine, w.spare, w.born = m, idleSpare, time.Now()
	w.since.Store(-1)
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Reset(idleLook) // look resets it, so it has to be there first
}

// stop ends the watch. A look that is under way finds no process.
func (w *idleWatch) stop() { w.timer.Stop() }

// begin and end are called around each event, by the owner of the machine.
func (w *idleWatch) begin() { w.since.Store(int64(time.Since(w.born))) }

func (w *idleWatch) end() {
	w.worked.Add(int64(time.Since(w.born)) - w.since.Load())
	w.since.Store(-1)
}

// look compares what the worker has used with what it may have used.
func (w *idleWatch) look() {
	used, known := w.machine.pipe.Used()
	switch may := w.may(time.Since(w.born)); {
	case !known: // over, or a system that does not say
	case used > may:
		w.machine.kill(fmt.Sprintf("used %v of processor time, and had work for %v at most, so it was killed", used.Round(time.Millisecond), may.Round(time.Millisecond)))
	default:
		w.timer.Reset(idleLook)
	}
}

// may is what a worker of some age may have used.
func (w *idleWatch) may(age time.Duration) time.Duration {
	worked := time.Duration(w.worked.Load())
	if since := w.since.Load(); since >= 0 {
		worked += age - time.Duration(since)
	}
	return w.spare + age/idleShare + worked*time.Duration(runtime.NumCPU())
}
