//lint:file-ignore SA1019 Servers ask for roots until the feature is gone.

package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host"
	ours "github.com/wharf-mcp/wharf/host/mcp"
)

// curious is a server of the SDK whose only tool says who calls it, what they declare,
// and which folders they have.
func curious() *mcp.Server {
	type none struct{}
	s := mcp.NewServer(&mcp.Implementation{Name: "curious", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ none) (*mcp.CallToolResult, any, error) {
		about := r.Session.InitializeParams()
		if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: about.ClientInfo.Name, Progress: 1}); err != nil {
			return nil, nil, err
		}
		text := about.ClientInfo.Name
		if about.Capabilities.Experimental["x"] != nil {
			text += " with x"
		}
		if about.Capabilities.Extensions["a.example/y"] != nil {
			text += " and y"
		}
		if list, err := r.Session.ListRoots(ctx, nil); err == nil {
			for _, root := range list.Roots {
				text += " at " + root.URI
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
	return s
}

// TestAddClient has sessions of one host with clients of their own.
func TestAddClient(t *testing.T) {
	at := func(uri string) func(context.Context, string) ([]ours.Root, error) {
		return func(context.Context, string) ([]ours.Root, error) { return []ours.Root{{URI: uri}}, nil }
	}
	server := curious()
	heard := make(chan host.Event, 10)
	h := newHost(t, host.Config{
		Event: func(e host.Event) {
			if strings.Contains(string(e.Params), `"three"`) {
				t.Errorf("the host heard %s of a client that hears its own events", e.Params)
			}
		},
		Files: pluginFile("socket", socketFile), Client: host.Client{Roots: at("file:///host")},
		Streams: map[string]func(context.Context) (io.ReadWriteCloser, error){"curious": func(context.Context) (io.ReadWriteCloser, error) {
			near, far := net.Pipe()
			_, err := server.Connect(t.Context(), &mcp.IOTransport{Reader: far, Writer: far}, nil)
			return near, err
		}},
	})
	entry := host.Server{Name: "curious", Transport: "socket", Address: "memory:curious", Protocol: "legacy"}
	declared := map[string]json.RawMessage{"experimental": json.RawMessage(`{"x":{}}`)}
	extensions := map[string]json.RawMessage{"a.example/y": json.RawMessage(`{}`)}
	for want, add := range map[string]func() (*host.Session, error){
		"wharf at file:///host": func() (*host.Session, error) { return h.Add(entry) },
		"one with x and y at file:///one": func() (*host.Session, error) {
			return h.AddClient(entry, host.Client{Info: ours.Implementation{Name: "one"}, Roots: at("file:///one"), Capabilities: declared, Extensions: extensions})
		},
		"two at file:///curious": func() (*host.Session, error) {
			return h.AddClient(entry, host.Client{
				Info: ours.Implementation{Name: "two"}, Capabilities: map[string]json.RawMessage{"roots": json.RawMessage(`{}`)},
				Handlers: map[string]func(context.Context, string, json.RawMessage) (json.RawMessage, error){
					"roots/list": func(_ context.Context, server string, _ json.RawMessage) (json.RawMessage, error) {
						return json.RawMessage(`{"roots":[{"uri":"file:///` + server + `"}]}`), nil
					},
				},
				Other: func(_ context.Context, _, method string, _ json.RawMessage) (json.RawMessage, error) {
					t.Errorf("%s has a handler", method)
					return nil, nil
				},
			})
		},
		"a callback at file:///callback": func() (*host.Session, error) {
			other := func(_ context.Context, _, method string, _ json.RawMessage) (json.RawMessage, error) {
				t.Errorf("%s has a callback", method)
				return nil, nil
			}
			return h.AddClient(entry, host.Client{
				Info: ours.Implementation{Name: "a callback"}, Roots: at("file:///callback"),
				Handlers: map[string]func(context.Context, string, json.RawMessage) (json.RawMessage, error){
					"roots/list": func(ctx context.Context, server string, params json.RawMessage) (json.RawMessage, error) {
						return other(ctx, server, "roots/list", params)
					},
				},
				Other: other,
			})
		},
		"three at file:///curious/roots/list": func() (*host.Session, error) {
			return h.AddClient(entry, host.Client{
				Info: ours.Implementation{Name: "three"}, Capabilities: map[string]json.RawMessage{"roots": json.RawMessage(`{}`)},
				Event: func(e host.Event) { heard <- e },
				Other: func(_ context.Context, server, method string, _ json.RawMessage) (json.RawMessage, error) {
					return json.RawMessage(`{"roots":[{"uri":"file:///` + server + "/" + method + `"}]}`), nil
				},
			})
		},
		"wharf": func() (*host.Session, error) { return h.AddClient(entry, host.Client{}) },
	} {
		s, err := add()
		if err != nil {
			t.Fatal(err)
		}
		result, err := s.CallTool(t.Context(), "ask", nil)
		if err != nil || result.Content[0].Text != want {
			t.Errorf("%+v, %v; want %s", result, err, want)
		}
	}
	if e := <-heard; e.Server != "curious" || e.Method != ours.NotificationProgress || !strings.Contains(string(e.Params), `"three"`) {
		t.Errorf("the client heard %+v", e)
	}
	if _, err := h.AddClient(entry, host.Client{Capabilities: map[string]json.RawMessage{"x": json.RawMessage(`1`)}}); !errors.Is(err, host.ErrConfig) {
		t.Errorf("a capability that is no object: %v", err)
	}
}
