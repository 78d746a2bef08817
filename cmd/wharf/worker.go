package main

import (
	"fmt"
	"os"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host"
)

// workerCommand is the program as it compiles a plugin that is not part of it, and as
// it runs one apart from the others.
const workerCommand = "plugin-worker"

// isWorker reports whether the command line is that of a worker. It is looked at
// before all else: a worker is started for each plugin, and has to be quick.
func isWorker(args []string) bool { return len(args) == 1 && args[0] == workerCommand }

// runWorker is the whole of a worker, and returns its exit code.
func runWorker() int {
	if err := host.RunWorker(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return exit.CodeInternal
	}
	return exit.CodeOK
}

// worker is the command that starts a worker of this program, or nil where the
// program cannot be found.
func worker() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, workerCommand}
}
