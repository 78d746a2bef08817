package main

import (
	"context"
	"os"
)

// awaitOrphaned returns when the process that started this one has ended, or ctx has. It leaves a
// goroutine behind that waits for the parent.
func awaitOrphaned(ctx context.Context) {
	parent, err := os.FindProcess(os.Getppid())
	if err != nil {
		return // it has ended already
	}
	ended := make(chan struct{})
	go func() {
		parent.Wait() // a handle of Windows can be waited for by anyone who has it
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
}

// standardStream returns stdin and stdout as a stream.
func standardStream() (clientStream, error) { return clientStream{os.Stdin, os.Stdout}, nil }
