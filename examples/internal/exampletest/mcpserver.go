package exampletest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host"
)

// serverArgument has a test binary be an MCP server.
const serverArgument = "mcp-server"

// Main is the TestMain of a package whose tests use [Server].
func Main(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == serverArgument {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Server returns the entry of an MCP server that is a process of its own: the test
// binary, over stdio. It has the tool "echo", which repeats its argument "message", the
// tool "fail", whose result is an error, and the tool "exit", which ends the process.
func Server(t testing.TB) host.Server {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return host.Server{Name: "test", Command: self, Args: []string{serverArgument}}
}

type message struct {
	Message string `json:"message"`
}

func serve() error {
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, m message) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: m.Message}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("the disk is full")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "exit"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		os.Exit(3)
		return nil, nil, nil
	})
	return s.Run(context.Background(), &mcp.StdioTransport{})
}
