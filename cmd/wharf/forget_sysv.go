//go:build aix || linux || solaris

package main

import "golang.org/x/sys/unix"

// forget drops what was typed and not read yet.
func (m *mode) forget() { unix.IoctlSetInt(int(m.terminal.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
