// Command minimal calls the tool echo of an MCP server once, by the official Go
// SDK and without anything else. It is what the start of wharf is compared with.
//
//	minimal COMMAND [ARGUMENT...]
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: minimal COMMAND [ARGUMENT...]")
		os.Exit(2)
	}
	if err := call(context.Background(), exec.Command(os.Args[1], os.Args[2:]...)); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func call(ctx context.Context, server *exec.Cmd) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "minimal", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{
		Name:      "echo",
		Arguments: map[string]any{"message": "hello"},
	})
	if err != nil {
		return err
	}
	for _, block := range result.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			fmt.Println(text.Text)
		}
	}
	return nil
}
