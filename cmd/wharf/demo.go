package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/wharf-mcp/wharf/host"
)

const (
	demoName    = "demo"
	demoCommand = "demo-server" // hidden: with it, the program is the server
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

func newDemoServer(a *app) *cobra.Command {
	return &cobra.Command{
		Use:    demoCommand,
		Short:  "Be the demo server on stdin and stdout",
		Hidden: true,
		Args:   exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveDemo(cmd.Context())
		},
	}
}

// serveDemo is an MCP server built with the official SDK. It ends when its stdin ends
// or ctx does: clients close stdin first, and send a signal if the server is slow to
// notice (2025-11-25/basic/lifecycle#stdio). Neither is an error.
func serveDemo(ctx context.Context) error {
	server := mcp.NewServer(&mcp.Implementation{Name: demoName, Title: "Wharf demo", Version: version()}, demoOptions)
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Say a message back."}, echo)
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "Add two numbers."}, add)
	mcp.AddTool(server, &mcp.Tool{Name: "now", Description: "Tell the time, in a zone such as Europe/Lisbon or else in UTC."}, now)
	mcp.AddTool(server, &mcp.Tool{Name: "slow", Description: "Take some seconds, and report progress on the way."}, slow)
	mcp.AddTool(server, &mcp.Tool{Name: "fail", Description: "Go wrong, with a message."}, fail)
	addReading(ctx, server)
	if err := server.Run(ctx, &mcp.StdioTransport{}); ctx.Err() == nil {
		return err
	}
	return nil
}

type echoInput struct {
	Message string `json:"message" jsonschema:"what to say back"`
}

func echo(_ context.Context, _ *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, any, error) {
	return said(in.Message), nil, nil
}

type addInput struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type sum struct {
	Sum float64 `json:"sum"`
}

func add(_ context.Context, _ *mcp.CallToolRequest, in addInput) (*mcp.CallToolResult, sum, error) {
	total := in.A + in.B
	return said(fmt.Sprint(total)), sum{total}, nil
}

type nowInput struct {
	Zone string `json:"zone,omitempty" jsonschema:"a time zone of the IANA database"`
}

func now(_ context.Context, _ *mcp.CallToolRequest, in nowInput) (*mcp.CallToolResult, any, error) {
	zone, err := time.LoadLocation(in.Zone)
	if err != nil {
		return nil, nil, err
	}
	return said(time.Now().In(zone).Format(time.RFC3339)), nil, nil
}

type slowInput struct {
	Seconds int `json:"seconds" jsonschema:"how long to take"`
}

func slow(ctx context.Context, request *mcp.CallToolRequest, in slowInput) (*mcp.CallToolResult, any, error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for second := range in.Seconds {
		select {
		case <-tick.C:
			progress(ctx, request, second+1, in.Seconds)
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	return said(fmt.Sprintf("took %d s", max(in.Seconds, 0))), nil, nil
}

// progress reports how far a call is, to a client that asked for it.
func progress(ctx context.Context, request *mcp.CallToolRequest, done, total int) {
	token := request.Params.GetProgressToken()
	if token == nil {
		return
	}
	request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: token, Progress: float64(done), Total: float64(total),
	})
}

type failInput struct {
	Message string `json:"message,omitempty" jsonschema:"what to say about it"`
}

func fail(_ context.Context, _ *mcp.CallToolRequest, in failInput) (*mcp.CallToolResult, any, error) {
	if in.Message == "" {
		in.Message = "this tool always fails"
	}
	result := said(in.Message)
	result.IsError = true
	return result, nil, nil
}

// said is a result that is text.
func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
