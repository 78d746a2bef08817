package demo

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/release"
)

// Command is the one argument with which the program is this server.
const Command = "demo-server"

// init turns a process with the argument [Command] into this server, and ends it before main
// runs. A package is initialized once its imports are, in the order of their paths. This one
// imports little, so such a process never initializes the packages of the host. That saves most
// of a start, for which a call of a tool waits.
func init() {
	if len(os.Args) == 2 && os.Args[1] == Command {
		os.Exit(Run())
	}
}

// Run serves on stdin and stdout until stdin ends or a signal comes. It returns the exit code.
func Run() int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // so that a write fails in place of the process
	if err := Serve(ctx, os.Stdin, os.Stdout, release.Version()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return 0
}
