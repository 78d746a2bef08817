package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// errInterrupted is the cause of a context that a signal has ended.
var errInterrupted = errors.New("interrupted")

// interruption ends the program when it is asked to. The first SIGINT or SIGTERM
// cancels a context, so that a request in flight is cancelled at the server and
// processes end in order. Whoever does not want to wait for that sends a second
// one, and the program leaves on the spot.
//
// A broken pipe becomes an error of the write in place of a signal: dying from
// it would leave the server's processes without their goodbye.
type interruption struct {
	signals chan os.Signal
	stopped chan struct{}
	restore func() // puts the terminal back
	cancel  context.CancelCauseFunc
}

// interruptible returns a context that an interruption cancels. restore is called
// before the program leaves on the spot. The caller must call stop.
func interruptible(parent context.Context, restore func()) (context.Context, *interruption) {
	ctx, cancel := context.WithCancelCause(parent)
	i := &interruption{signals: make(chan os.Signal, 2), stopped: make(chan struct{}), restore: restore, cancel: cancel}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	go i.watch()
	return ctx, i
}

func (i *interruption) watch() {
	for leave := false; ; leave = true {
		select {
		case <-i.signals:
		case <-i.stopped:
			return
		}
		if leave {
			i.restore()
			os.Exit(exitInterrupted)
		}
		i.cancel(errInterrupted)
	}
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
