package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/release"
)

// newTwin returns the demo server built with the official SDK, to compare it with, and as a
// server that others wrote.
func newTwin(ctx context.Context) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: demoName, Title: "Wharf demo", Version: release.Version()}, demoOptions)
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Say a message back."}, echo)
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "Add two numbers."}, add)
	mcp.AddTool(server, &mcp.Tool{Name: "now", Description: "Tell the time, in a zone such as Europe/Lisbon or else in UTC."}, now)
	mcp.AddTool(server, &mcp.Tool{Name: "slow", Description: "Take some seconds, and report progress on the way."}, slow)
	mcp.AddTool(server, &mcp.Tool{Name: "fail", Description: "Go wrong, with a message."}, fail)
	addReading(ctx, server)
	return server
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

// The resources of the demo server. The clock changes every second.
const (
	demoAbout    = "demo://about"
	demoClock    = "demo://clock"
	demoGreeting = "demo://greeting/"
)

// demoOptions let clients subscribe to the demo server, and complete names.
var demoOptions = &mcp.ServerOptions{
	Instructions:       "This server is for trying things out: nothing it does lasts.",
	CompletionHandler:  completeName,
	SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
	UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
}

// addReading adds the resources and the prompt.
func addReading(ctx context.Context, s *mcp.Server) {
	s.AddResource(&mcp.Resource{URI: demoAbout, Name: "about", MIMEType: "text/plain", Description: "What this server is."}, readDemo)
	s.AddResource(&mcp.Resource{URI: demoClock, Name: "clock", MIMEType: "text/plain", Description: "The time in UTC; it changes every second."}, readDemo)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: demoGreeting + "{name}", Name: "greeting", MIMEType: "text/plain", Description: "A greeting."}, readDemo)
	s.AddPrompt(&mcp.Prompt{
		Name: "greet", Description: "Have a model greet a person.",
		Arguments: []*mcp.PromptArgument{{Name: "name", Description: "the person to greet", Required: true}, {Name: "tone", Description: "the tone, such as warm"}},
	}, greet)
	go tick(ctx, s)
}

// tick notifies subscribers of the clock every second.
func tick(ctx context.Context, s *mcp.Server) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			s.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: demoClock})
		case <-ctx.Done():
			return
		}
	}
}

func readDemo(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := r.Params.URI
	text := "The demo server of Wharf: tools, resources and a prompt to try things out with.\n"
	switch name, found := strings.CutPrefix(uri, demoGreeting); {
	case found:
		text = "Hello, " + name + "!\n"
	case uri == demoClock:
		text = time.Now().UTC().Format(time.RFC3339) + "\n"
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: text}}}, nil
}

func greet(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	text := "Greet " + r.Params.Arguments["name"] + "."
	if tone := r.Params.Arguments["tone"]; tone != "" {
		text += " The tone is " + tone + "."
	}
	return &mcp.GetPromptResult{
		Description: "A greeting",
		Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}},
	}, nil
}

// completeName completes the arguments of the prompt.
func completeName(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	known := []string{"Ada", "Alan", "Grace"}
	if r.Params.Argument.Name == "tone" {
		known = []string{"warm", "formal"}
	}
	values := []string{}
	for _, value := range known {
		if strings.HasPrefix(strings.ToLower(value), strings.ToLower(r.Params.Argument.Value)) {
			values = append(values, value)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
}
