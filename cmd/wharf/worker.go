package main

import (
	"fmt"
	"os"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host"
)

// workerCommand makes this program a worker: a process that compiles a plugin which is
// not part of wharf, or runs one apart from the others.
const workerCommand = "plugin-worker"

// isWorker reports whether the command line is that of a worker. main calls it first, because a
// worker is started for each plugin and must start fast.
func isWorker(args []string) bool { return len(args) == 1 && args[0] == workerCommand }

// runWorker runs a worker, and returns its exit code.
func runWorker() int {
	if err := host.RunWorker(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exit.CodeInternal
	}
	return exit.CodeOK
}

// worker returns the command that starts a worker of this program, or nil if the program cannot
// be found.
func worker() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, workerCommand}
}
