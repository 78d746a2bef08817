//go:build unix

package main

import (
	"os"
	"syscall"
)

// letBlock undoes that a file is non-blocking. It does nothing to a closed file.
func letBlock(f *os.File) {
	if raw, err := f.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { syscall.SetNonblock(int(fd), false) })
	}
}
