package term

import (
	"golang.org/x/sys/windows"
)

// flush drops what was typed and not read yet.
func (m *Mode) flush() { windows.FlushConsoleInputBuffer(windows.Handle(m.Terminal.Fd())) }
