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
// would not end a Read that waits.
func standardStream() (clientStream, error) {
	if err := syscall.SetNonblock(syscall.Stdin, true); err != nil {
		return clientStream{}, fmt.Errorf("stdin: %w", err)
	}
	return clientStream{os.NewFile(uintptr(syscall.Stdin), "stdin"), os.Stdout}, nil
}
