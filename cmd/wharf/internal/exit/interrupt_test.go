package exit

import (
	"context"
	"os"
	"syscall"
	"testing"
)

// Of the signals of a closed terminal, which may be several, none leaves servers
// behind. After them, a person may still want it to be over at once.
func TestSecondHangupLeavesNothing(t *testing.T) {
	signals := make(chan os.Signal) // unbuffered: what was sent was heard
	ctx, cancel := context.WithCancelCause(t.Context())
	i := &Interrupts{signals: signals, stopped: make(chan struct{}), restore: func() { t.Error("it leaves") }, cancel: cancel}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		i.watch()
	}()
	for range 3 {
		signals <- syscall.SIGHUP
	}
	close(i.stopped)
	<-watched
	if cause := context.Cause(ctx); cause != ErrInterrupted {
		t.Errorf("ended by %v, want %v", cause, ErrInterrupted)
	}
}

// TestTakeOver: a SIGINT is the taker's until it declines, and other signals are not.
func TestTakeOver(t *testing.T) {
	signals := make(chan os.Signal)
	ctx, cancel := context.WithCancelCause(t.Context())
	i := &Interrupts{signals: signals, stopped: make(chan struct{}), restore: func() {}, cancel: cancel}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		i.watch()
	}()
	taken := make(chan bool)
	restore := i.TakeOver(func() bool { return <-taken })
	signals <- os.Interrupt
	taken <- true
	signals <- os.Interrupt
	if ctx.Err() != nil {
		t.Error("a signal that was taken ended the program")
	}
	taken <- false
	<-ctx.Done()
	restore()
	close(i.stopped)
	<-watched
}
