// Wharf calls tools on MCP servers from the command line.
//
// A server is named in the user's configuration, given on the spot behind "--",
// or the one called demo, which is part of the program:
//
//	wharf tools demo
//	wharf call demo echo message=hello
//	wharf call echo message=hello -- npx -y @modelcontextprotocol/server-everything
//
// Stdout carries data alone: a table or text on a terminal, JSON everywhere
// else and with --json. Everything for people goes to stderr. The exit code
// says what kind of end it was: 0 ok, 1 internal, 2 usage or configuration,
// 3 sign-in needed, 4 unreachable or timed out, 5 the tool or the server
// answered with an error, 6 denied, 130 interrupted.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// errInterrupted is the cause of a context that a signal has ended.
var errInterrupted = errors.New("interrupted")

func main() {
	leaveGarbage()
	os.Exit(run(os.Args[1:], standardIO()))
}

// run is the whole program: it carries out one command line and returns the
// exit code. It has told std.err about every error by then.
func run(args []string, std stdio) int {
	ctx, stop := interruptible(context.Background())
	defer stop()
	a := &app{stdio: std}
	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	a.endTrace()
	return a.report(ctx, err)
}

// interruptible returns a context that the first SIGINT or SIGTERM cancels, so
// that a request in flight is cancelled at the server and processes end in
// order. Whoever does not want to wait for that sends a second one, and the
// program leaves on the spot. The caller must call stop.
//
// A broken pipe becomes an error of the write in place of a signal: dying from
// it would leave the server's processes without their goodbye.
func interruptible(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	stopped := make(chan struct{})
	go func() {
		for leave := false; ; leave = true {
			select {
			case <-signals:
			case <-stopped:
				return
			}
			if leave {
				os.Exit(exitInterrupted)
			}
			cancel(errInterrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(stopped)
		cancel(nil)
	}
}

// leaveGarbage lets the heap grow further before it is swept: most of what a
// command that prints a result and leaves would sweep is from loading a plugin,
// and goes with the process.
func leaveGarbage() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400)
	}
}
