package term

import (
	"context"
	"io"
	"time"
)

// Dialog gives the caller the person's attention. Until end is called, no other dialog begins,
// and nothing moves on the terminal. Dialog waits for its turn until ctx ends. The context that
// it returns also ends when the program is interrupted.
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
	t.dialogs.interrupt.Store(&cancel)
	release := t.Still()
	return within, func() {
		t.dialogs.interrupt.Store(nil)
		release()
		unhook()
		cancel(nil)
		<-turn
	}, nil
}

// EndDialog ends the context of the dialog that is open, if one is, with a cause. It is for an
// interrupt that does not end the program.
func (t *Terminal) EndDialog(cause error) {
	if end := t.dialogs.interrupt.Load(); end != nil {
		(*end)(cause)
	}
}

// Ask asks the person, and returns the answer. The caller holds the dialog. The error is
// [ErrCancelled], [ErrDeclined], [ErrBack], [io.EOF] or the cause of ctx.
func (t *Terminal) Ask(ctx context.Context, q Question) (string, error) {
	io.WriteString(t.Err, q.Above)
	return t.keyboard().ask(ctx, q)
}

// keyboard returns the keyboard of the terminal. The caller holds the dialog.
func (t *Terminal) keyboard() *keyboard {
	k := &t.dialogs.keyboard
	if k.in == nil {
		screen, ok := t.Err.(*Console)
		if !ok {
			screen = &Console{To: io.Discard}
		}
		k.in, k.mode, k.screen, k.blind, k.interrupt = t.In, t.Mode, screen, !ok, t.Interrupt
	}
	return k
}

// Stdin returns stdin. On a terminal, reads go through the keyboard and end with ctx, because a
// read that went on would take the answer to the next question.
func (t *Terminal) Stdin(ctx context.Context) io.Reader {
	if !t.InTTY {
		return t.In
	}
	return &typedText{t: t, ctx: ctx}
}

type typedText struct {
	t    *Terminal
	ctx  context.Context
	told bool // the person knows that they can type
}

// Read reads what is typed, and holds the dialog meanwhile.
func (r *typedText) Read(p []byte) (int, error) {
	ctx, end, err := r.t.Dialog(r.ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	if !r.told && r.t.ErrTTY {
		io.WriteString(r.t.Err, "Reading what you type here; Ctrl-D on a new line ends it.\n")
	}
	r.told = true
	return r.t.keyboard().readText(ctx, p)
}

// Still keeps moving lines away while a person reads, until done is called.
func (t *Terminal) Still() (done func()) {
	if c, ok := t.Err.(*Console); ok {
		return c.hold()
	}
	return func() {}
}

// AwaitDialog waits until no dialog is open, but no longer than limit. The last words of the
// program then stand below the question and not beside it. Dialogs end with the command, because
// their server is gone or the program was interrupted.
func (t *Terminal) AwaitDialog(limit time.Duration) {
	turn := t.dialogs.turn()
	select {
	case turn <- struct{}{}:
		<-turn
	case <-time.After(limit):
	}
}
