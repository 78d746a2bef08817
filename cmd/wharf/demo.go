package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/demo"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/host"
)

const (
	demoName    = "demo"
	demoCommand = "demo-server" // with it, the program is the server
)

// demoServer is the server that is always configured: this program, started again as a
// child.
func demoServer() (host.Server, error) {
	self, err := os.Executable()
	if err != nil {
		return host.Server{}, fmt.Errorf("find the program for server %s: %w", demoName, err)
	}
	// Entries are expanded, and the path may contain a $.
	command := strings.ReplaceAll(self, "$", "$$")
	return host.Server{Name: demoName, Command: command, Args: []string{demoCommand}}.Literal(), nil
}

// isDemoServer reports whether the command line is that of the demo server. main asks this
// before it builds the tree of commands, because each call of its tools waits for its start.
func isDemoServer(args []string) bool { return len(args) == 1 && args[0] == demoCommand }

// runDemoServer is the demo server on stdin and stdout. It returns its exit code.
func runDemoServer() int {
	ctx, interruption := exit.OnInterrupt(context.Background(), func() {})
	defer interruption.Stop()
	if err := demo.Serve(ctx, os.Stdin, os.Stdout, version()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return exit.CodeInternal
	}
	return exit.CodeOK
}
