//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package main

import "golang.org/x/sys/unix"

// forget drops what was typed and not read yet.
func (m *mode) forget() {
	const toRead = 1 // FREAD
	unix.IoctlSetPointerInt(int(m.terminal.Fd()), unix.TIOCFLUSH, toRead)
}
