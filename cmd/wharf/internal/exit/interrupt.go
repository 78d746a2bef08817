package exit

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// Interrupts ends the program when it is asked to. The first SIGINT, SIGTERM or
// SIGHUP cancels a context, so that a request in flight is cancelled at the server
// and processes end in order. A second one ends the program on the spot. A SIGHUP is
// never that second one: the system and a shell both send theirs when a terminal
// closes.
//
// A SIGHUP that was ignored when the program started, as under nohup, stays ignored.
//
// A broken pipe becomes an error of the write in place of a signal: dying from it would leave
// the server's processes no chance to end in order.
type Interrupts struct {
	signals chan os.Signal
	stopped chan struct{}
	restore func() // puts the terminal back
	cancel  context.CancelCauseFunc
	hurried context.Context
	hurry   context.CancelFunc
	asked   atomic.Bool            // the first was a SIGTERM
	hangup  atomic.Pointer[func()] // what a SIGHUP does in place of ending; nil = nothing
	taken   atomic.Pointer[func() bool]
}

// OnInterrupt returns a context that an interrupt cancels with [ErrInterrupted].
// restore is called at a second interrupt, since the program may then end on the spot. The
// caller must call Stop.
func OnInterrupt(parent context.Context, restore func()) (context.Context, *Interrupts) {
	ctx, cancel := context.WithCancelCause(parent)
	i := &Interrupts{signals: make(chan os.Signal, 2), stopped: make(chan struct{}), restore: restore, cancel: cancel}
	i.hurried, i.hurry = context.WithCancel(context.WithoutCancel(parent))
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(i.signals, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go i.watch()
	return ctx, i
}

func (i *Interrupts) watch() {
	for second := false; ; {
		var s os.Signal
		select {
		case s = <-i.signals:
		case <-i.stopped:
			return
		}
		other, taken := i.hangup.Load(), i.taken.Load()
		switch {
		case s == os.Interrupt && taken != nil && (*taken)():
		case s == syscall.SIGHUP && other != nil:
			(*other)()
		case s == syscall.SIGHUP && second: // a closed terminal may send several
		case second:
			i.hurry()
			i.restore()
			select {
			case <-i.stopped:
				return
			case <-i.signals:
			case <-time.After(leaveWithin):
			}
			os.Exit(CodeInterrupted)
		default:
			second = true
			i.asked.Store(s == syscall.SIGTERM)
			i.cancel(ErrInterrupted)
		}
	}
}

// Asked reports whether the program was asked to end by a SIGTERM, as managers of services send it. A
// program that goes on until it is told to end has then done all that it should.
func (i *Interrupts) Asked() bool { return i != nil && i.asked.Load() }

// leaveWithin is how long the program may go on after a second interrupt. A command gives the
// processes of its servers a quarter of it to end, and then kills them.
const leaveWithin = 2 * time.Second

// Hurried returns a context that only the second interrupt ends. It is for the work of a command
// that goes on after the first.
func (i *Interrupts) Hurried() context.Context { return i.hurried }

// OnHangup makes a SIGHUP call f instead of ending the program, even if SIGHUP was ignored. It
// holds until restore is called. f must not block.
func (i *Interrupts) OnHangup(f func()) (restore func()) {
	i.hangup.Store(&f)
	signal.Notify(i.signals, syscall.SIGHUP)
	return func() { i.hangup.CompareAndSwap(&f, nil) }
}

// TakeOver makes a SIGINT call f, until restore is called. If f returns false, the SIGINT does
// what it does otherwise. f must not block.
func (i *Interrupts) TakeOver(f func() bool) (restore func()) {
	i.taken.Store(&f)
	return func() { i.taken.CompareAndSwap(&f, nil) }
}

// Raise does what SIGINT does. It is for a terminal that reads Ctrl-C as a key.
func (i *Interrupts) Raise() {
	select {
	case i.signals <- os.Interrupt:
	default: // there are two already
	}
}

// Stop ends the context and leaves signals to their defaults.
func (i *Interrupts) Stop() {
	signal.Stop(i.signals)
	close(i.stopped)
	i.cancel(nil)
	i.hurry()
}
