package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// errInterrupted is the cause of a context that a signal has ended.
var errInterrupted = errors.New("interrupted")

// interruption ends the program when it is asked to. The first SIGINT, SIGTERM or
// SIGHUP cancels a context, so that a request in flight is cancelled at the server
// and processes end in order. Whoever does not want to wait for that sends a second
// one, and the program leaves on the spot. A SIGHUP is never that second one: the
// system and a shell both send theirs when a terminal closes.
//
// A SIGHUP that was ignored when the program started, as nohup has it, stays so.
//
// A broken pipe becomes an error of the write in place of a signal: dying from
// it would leave the server's processes without their goodbye.
type interruption struct {
	signals chan os.Signal
	stopped chan struct{}
	restore func() // puts the terminal back
	cancel  context.CancelCauseFunc
	hangup  atomic.Pointer[func()] // what a SIGHUP does in place of ending; nil = nothing
}

// interruptible returns a context that an interruption cancels. restore is called
// before the program leaves on the spot. The caller must call stop.
func interruptible(parent context.Context, restore func()) (context.Context, *interruption) {
	ctx, cancel := context.WithCancelCause(parent)
	i := &interruption{signals: make(chan os.Signal, 2), stopped: make(chan struct{}), restore: restore, cancel: cancel}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(i.signals, syscall.SIGHUP)
	}
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go i.watch()
	return ctx, i
}

func (i *interruption) watch() {
	for leave := false; ; {
		var s os.Signal
		select {
		case s = <-i.signals:
		case <-i.stopped:
			return
		}
		other := i.hangup.Load()
		switch {
		case s == syscall.SIGHUP && other != nil:
			(*other)()
		case s == syscall.SIGHUP && leave:
		case leave:
			i.restore()
			os.Exit(exitInterrupted)
		default:
			leave = true
			i.cancel(errInterrupted)
		}
	}
}

// onHangup has a SIGHUP call f in place of ending the program, one that was ignored
// too, until the function it returns is called. f must not wait.
func (i *interruption) onHangup(f func()) (restore func()) {
	i.hangup.Store(&f)
	signal.Notify(i.signals, syscall.SIGHUP)
	return func() { i.hangup.CompareAndSwap(&f, nil) }
}

// raise is what the key does that would have sent a signal.
func (i *interruption) raise() {
	select {
	case i.signals <- os.Interrupt:
	default: // there are two already
	}
}

func (i *interruption) stop() {
	signal.Stop(i.signals)
	close(i.stopped)
	i.cancel(nil)
}
