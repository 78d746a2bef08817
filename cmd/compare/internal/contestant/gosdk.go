package contestant

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/server"
)

type goSDK struct{ session *mcp.ClientSession }

func connectGoSDK(ctx context.Context, d Dock) (Client, error) {
	heard := d.Heard
	client := mcp.NewClient(&mcp.Implementation{Name: "compare", Version: "1.0.0"}, &mcp.ClientOptions{
		LoggingMessageHandler: func(context.Context, *mcp.LoggingMessageRequest) { heard.add() },
	})
	transport, err := goSDKTransport(d)
	if err != nil {
		return nil, err
	}
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		return nil, err
	}
	return goSDK{session}, nil
}

// goSDKTransport uses the transport for any stream for a socket: the SDK has none for sockets.
func goSDKTransport(d Dock) (mcp.Transport, error) {
	switch {
	case d.URL != "":
		return &mcp.StreamableClientTransport{Endpoint: d.URL, HTTPClient: d.client()}, nil
	case d.Socket != "":
		c, err := net.Dial("unix", d.Socket)
		return &mcp.IOTransport{Reader: io.NopCloser(c), Writer: c}, err // it closes both
	}
	return &mcp.CommandTransport{Command: exec.Command(d.Command[0], d.Command[1:]...)}, nil
}

func (c goSDK) Tools(ctx context.Context) (int, error) {
	list, err := c.session.ListTools(ctx, nil)
	if err != nil {
		return 0, err
	}
	return len(list.Tools), nil
}

func (c goSDK) Echo(ctx context.Context, text *Text) error {
	result, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: server.Echo, Arguments: text.arguments()})
	if err != nil {
		return err
	}
	if len(result.Content) != 1 {
		return fmt.Errorf("the echo has %d blocks, expected 1", len(result.Content))
	}
	block, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		return fmt.Errorf("the echo is a %T, expected text", result.Content[0])
	}
	return check(text, block.Text)
}

func (c goSDK) Flood(ctx context.Context, count int) error {
	_, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: server.Flood, Arguments: floodArguments(count)})
	return err
}

func (c goSDK) Close() error { return c.session.Close() }
