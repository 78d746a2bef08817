//lint:file-ignore SA1019 Servers ask for roots until the feature is gone.

package host_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host"
	ours "github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

func init() { servers["rooted"] = serveRooted }

// serveRooted serves the SDK's server, which logs the roots of its client each
// time that it is told of others.
func serveRooted() {
	s := mcp.NewServer(&mcp.Implementation{Name: "rooted", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Logging: &mcp.LoggingCapabilities{}, Tools: &mcp.ToolCapabilities{}},
		RootsListChangedHandler: func(ctx context.Context, r *mcp.RootsListChangedRequest) {
			var uris []string
			if list, err := r.Session.ListRoots(ctx, nil); err == nil {
				for _, root := range list.Roots {
					uris = append(uris, root.URI)
				}
			}
			r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: uris})
		},
	})
	s.Run(context.Background(), &mcp.StdioTransport{})
}

// A server of the legacy era asks for the roots again when it hears that they
// changed.
func TestRootsChanged(t *testing.T) {
	var mu sync.Mutex
	roots := []ours.Root{{URI: "file:///a"}}
	logged := make(chan string, 1)
	h := newHost(t, host.Config{
		Client: host.Client{Roots: func(context.Context, string) ([]ours.Root, error) {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(roots), nil
		}},
		Event: func(e host.Event) {
			if e.Method == ours.NotificationMessage {
				var m ours.LogMessage
				json.Unmarshal(e.Params, &m)
				logged <- string(m.Data)
			}
		},
	})
	entry := server("rooted")
	entry.Protocol = "legacy"
	s := connect(t, h, entry)
	if err := s.SetLevel(t.Context(), ours.LevelDebug); err != nil {
		t.Fatal(err)
	}
	connect(t, h, server("modern"))
	idle, err := h.Add(server("rooted"))
	if err != nil {
		t.Fatal(err)
	}
	for _, uri := range []string{"file:///b", "file:///c"} {
		mu.Lock()
		roots = []ours.Root{{URI: uri}}
		mu.Unlock()
		if err := h.RootsChanged(t.Context()); err != nil { // and the idle server is not there to be told
			t.Fatal(err)
		}
		if got, want := <-logged, `["`+uri+`"]`; got != want {
			t.Errorf("the server knows %s, want %s", got, want)
		}
	}
	if st := idle.Status(); st.State != status.Disconnected || len(logged) != 0 {
		t.Errorf("%+v, and %d words", st, len(logged))
	}
}
