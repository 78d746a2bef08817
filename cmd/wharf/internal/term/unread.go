package term

import (
	"context"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// unreadInterval is how often [Terminal.UntilUnread] looks for the reader of stdout.
const unreadInterval = 250 * time.Millisecond

// UntilUnread returns a context for a command that follows something. It ends when the reader of stdout
// goes away, and its cause is then the error that a write would have, see [IsUnread]: the next write may be
// hours away. Only the reader of a pipe or socket can go away, and on Windows nothing tells of it. The
// caller must call end.
func (t *Terminal) UntilUnread(parent context.Context) (ctx context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(parent)
	end = func() { cancel(nil) }
	out, isFile := t.Out.(*os.File)
	if !isFile {
		return ctx, end
	}
	if info, err := out.Stat(); err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return ctx, end
	}
	go func() {
		tick := time.NewTicker(unreadInterval)
		defer tick.Stop()
		for !unread(out) {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		cancel(&OutputError{syscall.EPIPE})
	}()
	return ctx, end
}
