// Command embed-quickstart starts an MCP server, calls one of its tools, and prints the
// text of the result:
//
//	go run ./examples/embed-quickstart echo '{"message":"hello"}' npx -y @modelcontextprotocol/server-everything
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/plugins"
)

func main() {
	if len(os.Args) < 4 {
		fmt.Fprintln(os.Stderr, "usage: embed-quickstart TOOL ARGUMENTS COMMAND [ARG...]")
		os.Exit(2)
	}
	server := host.Server{Name: "quickstart", Command: os.Args[3], Args: os.Args[4:]}
	if err := call(context.Background(), server, os.Args[1], json.RawMessage(os.Args[2]), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		if hint := host.Hint(err); hint != "" {
			fmt.Fprintln(os.Stderr, hint)
		}
		os.Exit(1)
	}
}

// call calls one tool. Close of the host ends the server.
func call(ctx context.Context, server host.Server, tool string, arguments json.RawMessage, out io.Writer) error {
	h, err := host.New(ctx, host.Config{Plugins: plugins.Builtin(), OneShot: true})
	if err != nil {
		return err
	}
	defer h.Close()
	session, err := h.Connect(ctx, server)
	if err != nil {
		return err
	}
	result, err := session.CallTool(ctx, tool, arguments)
	if err != nil {
		return err // there is no result; host.MaybeSent(err) says whether the tool may have run
	}
	for _, content := range result.Content {
		fmt.Fprintln(out, content.Text)
	}
	if result.IsError {
		return fmt.Errorf("the tool %s failed", tool)
	}
	return nil
}
