package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// newServer makes a server that has something for every method.
func newServer(b *book) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk"}, nil)
	s.AddReceivingMiddleware(b.keep)
	s.AddTool(&mcp.Tool{Name: "add_numbers", InputSchema: anyObject}, agree)
	s.AddTool(&mcp.Tool{Name: "json_schema_echo", InputSchema: anyObject}, agree)
	s.AddTool(&mcp.Tool{Name: "json_schema_2020_12_tool", InputSchema: json.RawMessage(schema)}, agree)
	s.AddPrompt(&mcp.Prompt{Name: "greeting"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, nil
	})
	for _, uri := range []string{"file:///a%20b.txt", "https://example.com/c?d=1"} {
		s.AddResource(&mcp.Resource{Name: uri, URI: uri}, read)
	}
	return s
}

// schema is one that loses something in most decoders.
const schema = `{"$defs":{"z":{"$anchor":"z"}},"additionalProperties":false,"type":"object","x-2":1.50}`

var anyObject = json.RawMessage(`{"type":"object"}`)

func agree(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{}, nil
}

func read(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "x"}}}, nil
}

// ask returns a tool that asks the client for a form, and writes the answer down.
func ask(b *book) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		got, err := r.Session.Elicit(ctx, &mcp.ElicitParams{
			Message: "Who?",
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{
				"name":{"type":"string","default":"Ann"},"size":{"type":"integer"}}}`),
		})
		if err != nil {
			return nil, err
		}
		b.write("elicited %s name=%q size=%v", got.Action, got.Content["name"], got.Content["size"])
		return &mcp.CallToolResult{}, nil
	}
}

// book is what a server was asked for.
type book struct {
	mu    sync.Mutex
	lines []string
}

func (b *book) write(format string, a ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, fmt.Sprintf(format, a...))
}

func (b *book) sorted() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(slices.Values(b.lines))
}

// keep writes requests down as they come in.
func (b *book) keep(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		switch p := r.GetParams().(type) {
		case *mcp.CallToolParamsRaw:
			b.write("%s %s %s", method, p.Name, p.Arguments)
		case *mcp.ReadResourceParams:
			b.write("%s %s", method, p.URI)
		case *mcp.GetPromptParams:
			b.write("%s %s", method, p.Name)
		default:
			if strings.HasSuffix(method, "/list") {
				b.write("%s", method)
			}
		}
		return next(ctx, method, r)
	}
}
