package contestant

import (
	"context"
	"fmt"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/plugins"
	"github.com/wharf-mcp/wharf/plugins/extras"

	"github.com/wharf-mcp/wharf/cmd/compare/internal/server"
)

// wharf uses all of Wharf: the public API, the session, and the stdio, http or socket plugin
// in its sandbox. One host makes all connections, as in a program that embeds Wharf.
type wharf struct{ host *host.Host }

func newWharf(ctx context.Context, d Dock) (Program, error) {
	heard := d.Heard
	shipped, err := shippedPlugins()
	if err != nil {
		return nil, err
	}
	h, err := host.New(ctx, host.Config{
		Plugins:  shipped,
		CacheDir: d.CacheDir,
		Client:   host.Client{Info: mcp.Implementation{Name: "compare", Version: "1.0.0"}},
		Event: func(e host.Event) {
			if e.Method == mcp.NotificationMessage {
				heard.add()
			}
		},
	})
	if err != nil {
		return nil, err
	}
	return wharf{h}, nil
}

// shippedPlugins returns the built-in plugins, and the extra plugin for sockets.
func shippedPlugins() (map[string]func() []byte, error) {
	all := plugins.Builtin()
	list, err := extras.List()
	for _, e := range list {
		if e.Embedded {
			all[e.Name] = func() []byte { return e.Module }
		}
	}
	return all, err
}

func entry(a Address) host.Server {
	switch {
	case a.URL != "":
		return host.Server{Name: "fast", URL: a.URL}
	case a.Socket != "":
		return host.Server{Name: "fast", Transport: "socket", Address: "unix:" + a.Socket}
	}
	return host.Server{Name: "fast", Command: a.Command[0], Args: a.Command[1:]}
}

func (w wharf) Connect(ctx context.Context, to Address) (Client, error) {
	session, err := w.host.Connect(ctx, entry(to))
	if err != nil {
		return nil, err
	}
	return wharfClient{session}, nil
}

func (w wharf) Close() error { return w.host.Close() }

type wharfClient struct{ session *host.Session }

func (c wharfClient) Tools(ctx context.Context) (int, error) {
	tools, err := c.session.ListTools(ctx)
	return len(tools), err
}

func (c wharfClient) Echo(ctx context.Context, text *Text) error {
	result, err := c.session.CallTool(ctx, server.Echo, text.arguments())
	if err != nil {
		return err
	}
	if len(result.Content) != 1 || result.Content[0].Type != mcp.ContentText {
		return fmt.Errorf("the echo has %d blocks, expected 1 of text", len(result.Content))
	}
	return check(text, result.Content[0].Text)
}

func (c wharfClient) Flood(ctx context.Context, count int) error {
	_, err := c.session.CallTool(ctx, server.Flood, floodArguments(count))
	return err
}

func (c wharfClient) Close() error { return c.session.Close() }
