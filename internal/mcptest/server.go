// Package mcptest has an MCP server that behaves well, for tests to connect to. Servers that
// misbehave are written in the tests that use them. The package shares no code with what it
// tests.
package mcptest

import (
	"context"
	"errors"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// NewServer returns a server of the official SDK. It has the tool "echo", which repeats its
// argument "message", the tool "fail", whose result is an error, and the tool "exit", which
// ends the process.
func NewServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	type input struct {
		Message string `json:"message"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Message}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("the disk is full")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "exit"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		os.Exit(3)
		return nil, nil, nil
	})
	return s
}

// Run makes the process such a server, over stdio, until its input ends.
func Run() error { return NewServer().Run(context.Background(), &mcp.StdioTransport{}) }
