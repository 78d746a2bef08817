package main

import "golang.org/x/sys/windows"

// forget drops what was typed and not read yet.
func (m *mode) forget() { windows.FlushConsoleInputBuffer(windows.Handle(m.terminal.Fd())) }
