package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serverLedger is a server that writes what happens to the file that its first argument names: a line when
// it starts, and one for each call of its tool "note". A call with hold set does not return before its
// connection ends, and one with quit ends the server.
func serverLedger() {
	write := func(format string, v ...any) {
		f, err := os.OpenFile(os.Args[1], os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintf(f, format+"\n", v...)
		}
		if err != nil {
			panic(err)
		}
		f.Close()
	}
	folder, _ := os.Getwd()
	write("start %d in %s with %s", os.Getpid(), folder, os.Getenv("LEDGER"))
	type input struct {
		Text string `json:"text"`
		Hold bool   `json:"hold,omitempty"`
		Quit bool   `json:"quit,omitempty"`
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "ledger", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "note"}, func(ctx context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, any, error) {
		write("call %s", in.Text)
		if in.Quit {
			os.Exit(3)
		}
		if in.Hold {
			<-ctx.Done()
			write("cancelled %s", in.Text)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: in.Text}}}, nil, nil
	})
	s.Run(context.Background(), &mcp.StdioTransport{})
}

// ledger returns the lines of a file of serverLedger that begin with a word.
func ledger(t *testing.T, file, word string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, word+" "); found {
			lines = append(lines, strings.TrimSuffix(rest, "\n"))
		}
	}
	return lines
}
