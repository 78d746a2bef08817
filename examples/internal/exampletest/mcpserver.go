package exampletest

import (
	"fmt"
	"os"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/internal/mcptest"
)

// serverArgument makes a test binary run as an MCP server.
const serverArgument = "mcp-server"

// Main is the TestMain of a package whose tests use [Server].
func Main(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == serverArgument {
		if err := mcptest.Run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Server returns the entry of an MCP server that is a process of its own: the test
// binary, over stdio, as [mcptest.NewServer].
func Server(t testing.TB) host.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return host.Server{Name: "test", Command: self, Args: []string{serverArgument}}
}
