//go:build aix || linux || solaris

package term

import (
	"golang.org/x/sys/unix"
)

// flush drops what was typed and not read yet.
func (m *Mode) flush() { unix.IoctlSetInt(int(m.Terminal.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
