package gateway_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/gateway"
)

// A client and a server of the official SDK meet over HTTP, whichever revision either speaks: calls,
// progress before the answer, questions within a call, and lists that change.
func TestSDKOverHTTP(t *testing.T) {
	for _, server := range []string{legacy, modern} {
		for _, client := range []string{legacy, modern} {
			t.Run(client+" to "+server, func(t *testing.T) { meet(t, client, server) })
		}
	}
}

func meet(t *testing.T, client, server string) {
	s := newSite(t, server, func(_ *host.Config, c *gateway.Config) { c.Servers[0].Protocol = server })
	srv := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	mcp.AddTool(srv, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1})
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() {
		conn := <-s.servers
		srv.Run(ctx, &mcp.IOTransport{Reader: conn, Writer: conn})
	}()

	progress, changed := make(chan float64, 10), make(chan bool, 10)
	c := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { progress <- r.Params.Progress },
		ToolListChangedHandler:      func(context.Context, *mcp.ToolListChangedRequest) { changed <- true },
	})
	session, err := c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: s.url, HTTPClient: s.client}, &mcp.ClientSessionOptions{ProtocolVersion: client})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if got := session.InitializeResult().ProtocolVersion; got != client {
		t.Error(got)
	}
	params := &mcp.CallToolParams{Name: "ask"}
	params.SetProgressToken("p")
	result, err := session.CallTool(ctx, params)
	if err != nil || len(result.Content) != 1 || result.Content[0].(*mcp.TextContent).Text != "done" {
		t.Fatalf("%+v %v", result, err)
	}
	if got := <-progress; got != 1 {
		t.Errorf("progress %v", got)
	}
	mcp.AddTool(srv, &mcp.Tool{Name: "new"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	<-changed
}
