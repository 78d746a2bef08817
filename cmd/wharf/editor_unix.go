//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"
)

// parentCheck is how often the id of the parent is compared.
const parentCheck = 500 * time.Millisecond

// awaitOrphaned returns when the process that started this one has ended, or ctx has. A process
// whose parent ends gets another parent. Which one depends on the system, so only the change counts.
func awaitOrphaned(ctx context.Context) {
	parent := os.Getppid()
	tick := time.NewTicker(parentCheck)
	defer tick.Stop()
	for os.Getppid() == parent {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// standardStream returns stdin and stdout as a stream. Stdin is made non-blocking: else its Close
// would not end a Read that waits. So is stdout, to save a switch of goroutines for each message,
// unless stderr leads to the same file: what other packages write to stderr has to block.
func standardStream() (clientStream, error) {
	if err := syscall.SetNonblock(syscall.Stdin, true); err != nil {
		return clientStream{}, fmt.Errorf("stdin: %w", err)
	}
	s := clientStream{os.NewFile(uintptr(syscall.Stdin), "stdin"), os.Stdout}
	if !isStream(os.Stdout) || sameFile(os.Stdout, os.Stderr) || syscall.SetNonblock(syscall.Stdout, true) != nil {
		return s, nil
	}
	// A descriptor of its own, because os.Stdout keeps that it blocks.
	syscall.ForkLock.RLock() // so that no child inherits it
	defer syscall.ForkLock.RUnlock()
	if fd, err := syscall.Dup(syscall.Stdout); err == nil {
		syscall.CloseOnExec(fd)
		s.out = os.NewFile(uintptr(fd), "stdout")
	}
	return s, nil
}

// isStream reports whether a file is a pipe or a socket.
func isStream(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}

func sameFile(a, b *os.File) bool {
	one, err := a.Stat()
	other, err2 := b.Stat()
	return err == nil && err2 == nil && os.SameFile(one, other)
}
