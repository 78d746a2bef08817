package worker

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability/process"
)

// The processor time that a worker may use between two events. An honest one needs next to nothing:
// its runtime cleans up after an event, and every two minutes. A limit of the operating system
// (RLIMIT_CPU) would count its whole life, and end honest workers that live long.
const (
	idleSpare = 5 * time.Second // in the worker's life
	idleShare = 100             // and one part in this many of the time that it lives
)

// maxPageTables is how many bytes of page tables the kernel may keep for a worker. An honest worker
// has under one megabyte. No limit of the operating system counts page tables: the limit of
// address space leaves room for some 65,000 single pages, with 8 KiB of tables each.
const maxPageTables = 16 << 20

// The times at which a worker is checked: soon after its start, and then each time after twice the
// interval, up to lastLook. A worker that spins is ended after lastLook and idleSpare at the
// latest.
const (
	firstLook = time.Second
	lastLook  = 30 * time.Second
)

// measured is a process whose usage can be read, such as a [process.Piped].
type measured interface {
	Usage() (u process.Usage, known bool)
}

// usageWatch ends a worker that uses the processor between two events, or has too many page tables.
// It does not check what the worker uses during events: for that time, the worker may use every
// processor. It works only on Linux, where the system tells what a process uses.
type usageWatch struct {
	process measured
	kill    func(why string)
	spare   time.Duration
	born    time.Time
	timer   *time.Timer
	wait    time.Duration // until the next check; guarded by timer, which runs once at a time
	worked  atomic.Int64  // nanoseconds of the events that are over
	since   atomic.Int64  // when the current one began, after born; -1 between two
}

// start begins to watch the process. kill ends it.
func (w *usageWatch) start(p measured, kill func(why string)) {
	w.process, w.kill, w.spare, w.born, w.wait = p, kill, idleSpare, time.Now(), firstLook
	w.since.Store(-1)
	w.timer = time.AfterFunc(time.Hour, w.lookAgain)
	w.timer.Reset(w.wait) // lookAgain resets it, so it has to be there first
}

// stop ends the watch. A check that is running at that moment goes on, and finds no process.
func (w *usageWatch) stop() { w.timer.Stop() }

// begin and end are called around each event, by the owner of the executor.
func (w *usageWatch) begin() { w.since.Store(int64(time.Since(w.born))) }

func (w *usageWatch) end() {
	w.worked.Add(int64(time.Since(w.born)) - w.since.Load())
	w.since.Store(-1)
}

func (w *usageWatch) lookAgain() {
	if w.look() {
		w.wait = min(2*w.wait, lastLook)
		w.timer.Reset(w.wait)
	}
}

// look compares what the worker uses with what it may use, and reports whether the watch goes on.
func (w *usageWatch) look() bool {
	used, known := w.process.Usage()
	switch may := w.may(time.Since(w.born)); {
	case !known: // it has ended, or the system does not tell
		return false
	case used.CPU > may:
		w.kill(fmt.Sprintf("used %v of processor time, and had work for %v at most, so it was killed", used.CPU.Round(time.Millisecond), may.Round(time.Millisecond)))
	case used.PageTables > maxPageTables:
		w.kill(fmt.Sprintf("has %d MB of page tables, where %d are the most, so it was killed", used.PageTables>>20, maxPageTables>>20))
	default:
		return true
	}
	return false
}

// may returns the processor time that a worker of that age may have used.
func (w *usageWatch) may(age time.Duration) time.Duration {
	worked := time.Duration(w.worked.Load())
	if since := w.since.Load(); since >= 0 {
		worked += age - time.Duration(since)
	}
	return w.spare + age/idleShare + worked*time.Duration(runtime.NumCPU())
}
