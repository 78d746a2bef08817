//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package term

import (
	"golang.org/x/sys/unix"
)

// flush drops what was typed and not read yet.
func (m *Mode) flush() {
	const toRead = 1 // FREAD
	unix.IoctlSetPointerInt(int(m.Terminal.Fd()), unix.TIOCFLUSH, toRead)
}
