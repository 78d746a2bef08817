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

// init serves, in a process that is this server, and ends it: its main function does not run. A
// package is initialized as soon as all that it imports is, in the order of their paths. This one
// imports little, so such a process never initializes the packages of the host, which is most of
// what a start takes, and a call of a tool waits for this start.
func init() {
	if len(os.Args) == 2 && os.Args[1] == Command {
		os.Exit(Run())
	}
}

// Run is the server on stdin and stdout, until stdin ends or a signal comes. It returns the
// exit code.
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
