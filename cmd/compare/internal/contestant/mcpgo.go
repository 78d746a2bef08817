package contestant

import (
	"context"
	"fmt"
	"net"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/server"
)

type mcpGo struct{ client *client.Client }

func connectMCPGo(ctx context.Context, d Dock) (Client, error) {
	heard := d.Heard
	c, err := newMCPGo(d)
	if err != nil {
		return nil, err
	}
	c.OnNotification(func(mcp.JSONRPCNotification) { heard.add() })
	if err := c.Start(ctx); err != nil { // a server process runs already; this connects the handler
		return nil, err
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "compare", Version: "1.0.0"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		c.Close()
		return nil, err
	}
	return mcpGo{c}, nil
}

// newMCPGo uses the transport for any stream for a socket: mcp-go has none for sockets.
func newMCPGo(d Dock) (*client.Client, error) {
	switch {
	case d.URL != "":
		return client.NewStreamableHttpClient(d.URL, transport.WithHTTPBasicClient(d.client()))
	case d.Socket != "":
		c, err := net.Dial("unix", d.Socket)
		return client.NewClient(transport.NewIO(c, c, nil)), err
	}
	return client.NewStdioMCPClient(d.Command[0], nil, d.Command[1:]...)
}

func (c mcpGo) Tools(ctx context.Context) (int, error) {
	list, err := c.client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return 0, err
	}
	return len(list.Tools), nil
}

func (c mcpGo) call(ctx context.Context, tool string, args arguments) (*mcp.CallToolResult, error) {
	var request mcp.CallToolRequest
	request.Params.Name = tool
	request.Params.Arguments = args
	return c.client.CallTool(ctx, request)
}

func (c mcpGo) Echo(ctx context.Context, text *Text) error {
	result, err := c.call(ctx, server.Echo, text.arguments())
	if err != nil {
		return err
	}
	if len(result.Content) != 1 {
		return fmt.Errorf("the echo has %d blocks, expected 1", len(result.Content))
	}
	block, ok := result.Content[0].(mcp.TextContent)
	if !ok {
		return fmt.Errorf("the echo is a %T, expected text", result.Content[0])
	}
	return check(text, block.Text)
}

func (c mcpGo) Flood(ctx context.Context, count int) error {
	_, err := c.call(ctx, server.Flood, floodArguments(count))
	return err
}

func (c mcpGo) Close() error { return c.client.Close() }
