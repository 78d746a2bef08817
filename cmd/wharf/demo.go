package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/demo"
	"github.com/wharf-mcp/wharf/host"
)

const demoName = "demo"

// demoServer is the server that is always configured: this program, started again as a
// child.
func demoServer() (host.Server, error) {
	self, err := os.Executable()
	if err != nil {
		return host.Server{}, fmt.Errorf("find the program for server %s: %w", demoName, err)
	}
	// Entries are expanded, and the path may contain a $.
	command := strings.ReplaceAll(self, "$", "$$")
	return host.Server{Name: demoName, Command: command, Args: []string{demo.Command}}.Literal(), nil
}
