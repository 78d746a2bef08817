package main

import (
	"context"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

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
