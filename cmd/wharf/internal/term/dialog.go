package term

import (
	"context"
	"io"
	"time"
)

// Dialog gives the caller the person's attention: until end is called no other
// dialog begins, and nothing moves on the terminal. It waits for that as long as ctx
// allows. The context it returns also ends when the program is interrupted.
func (t *Terminal) Dialog(ctx context.Context) (within context.Context, end func(), err error) {
	turn := t.dialogs.turn()
	within, cancel := context.WithCancelCause(ctx)
	unhook := func() bool { return true }
	if t.Life != nil {
		unhook = context.AfterFunc(t.Life, func() { cancel(context.Cause(t.Life)) })
	}
	select {
	case turn <- struct{}{}:
	case <-within.Done():
		unhook()
		defer cancel(nil)
		return nil, nil, context.Cause(within)
	}
	release := t.Still()
	return within, func() {
		release()
		unhook()
		cancel(nil)
		<-turn
	}, nil
}

// Ask asks the person. The caller holds the dialog. In place of an answer there may
// be [ErrCancelled], [ErrDeclined], [io.EOF], or the cause of ctx.
func (t *Terminal) Ask(ctx context.Context, q Question) (string, error) {
	io.WriteString(t.Err, q.Above)
	k := &t.dialogs.keyboard
	if k.in == nil {
		screen, ok := t.Err.(*Console)
		if !ok {
			screen = &Console{To: io.Discard}
		}
		k.in, k.mode, k.screen, k.blind, k.interrupt = t.In, t.Mode, screen, !ok, t.Interrupt
	}
	return k.ask(ctx, q)
}

// Still keeps moving lines away while a person reads, until done is called.
func (t *Terminal) Still() (done func()) {
	if c, ok := t.Err.(*Console); ok {
		return c.hold()
	}
	return func() {}
}

// AwaitDialog waits until no dialog is open, but no longer than limit. The last words
// of the program then stand below the question and not beside it. Dialogs end with
// the command, because their server is gone or the program was interrupted.
func (t *Terminal) AwaitDialog(limit time.Duration) {
	turn := t.dialogs.turn()
	select {
	case turn <- struct{}{}:
		<-turn
	case <-time.After(limit):
	}
}
