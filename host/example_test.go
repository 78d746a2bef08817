package host_test

import (
	"context"
	"fmt"
	"log"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/plugins"
)

// A program connects to a server that it starts, and calls one of its tools.
func Example() {
	ctx := context.Background()
	h, err := host.New(ctx, host.Config{Plugins: plugins.Builtin()})
	if err != nil {
		log.Fatal(err)
	}
	defer h.Close()

	s, err := h.Connect(ctx, server("sdk")) // host.Server{Name: …, Command: …}
	if err != nil {
		log.Fatal(err)
	}
	result, err := s.CallTool(ctx, "echo", map[string]any{"message": "ahoy"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].Text)
	// Output: ahoy
}
