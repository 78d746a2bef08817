package gateway

import (
	"encoding/json"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// A command is the same caller with a daemon and without one, so the same rules hold.
func TestCommandIsNoClient(t *testing.T) {
	h, err := host.New(t.Context(), host.Config{Deciders: []policy.Decider{&policy.Rules{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	g := &Gateway{host: h}
	info := json.RawMessage(`{"name":"wharf"}`)
	if c := g.caller(&origin{principal: streamPrincipal, kind: policy.Command}, mcp.Modern, info); *c != (policy.Caller{Kind: policy.Command}) {
		t.Errorf("a command is %+v", *c)
	}
	if c := g.caller(&origin{principal: streamPrincipal, kind: policy.Bridge}, mcp.Modern, info); c.Name != "wharf" {
		t.Errorf("a client is %+v", *c)
	}
}
