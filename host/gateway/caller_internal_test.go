package gateway

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/catalogue"
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
	g := &Gateway{host: h, present: make(map[*presence]struct{})}
	info := json.RawMessage(`{"name":"wharf"}`)
	if c := g.caller(&origin{principal: streamPrincipal, kind: policy.Command}, mcp.Modern, info); *c != (policy.Caller{Kind: policy.Command}) {
		t.Errorf("a command is %+v", *c)
	}
	if c := g.caller(&origin{principal: streamPrincipal, kind: policy.Bridge}, mcp.Modern, info); c.Name != "wharf" {
		t.Errorf("a client is %+v", *c)
	}
	for kind, info := range map[policy.Kind]json.RawMessage{policy.Command: info, policy.Bridge: info, policy.Gateway: json.RawMessage(`{"name":"\u0007wharf"}`)} {
		o, looks := &origin{principal: streamPrincipal, kind: kind}, new(lookingClient)
		p := g.arrive(looks, o, mcp.Modern, info, "files")
		if p.now().Name != "wharf" {
			t.Errorf("editors are told of %+v", p.now())
		}
		p.tellOfOthers(map[catalogue.Kind]mark{catalogue.Tools: {}}, 1)
		if who := g.caller(o, mcp.Modern, info); looks.as != *who {
			t.Errorf("a change of the rules is looked at as %+v sees it, and its requests are of %+v", looks.as, *who)
		}
	}
}

// lookingClient keeps as whom it looked at a list.
type lookingClient struct {
	client
	as policy.Caller
}

func (c *lookingClient) sees(caller *policy.Caller, _ *listing) (mark, bool) {
	c.as = *caller
	return mark{}, true
}

// A client is told once of two changes that follow each other, if the lists are first compared after both.
func TestToldOnceOfTwoChanges(t *testing.T) {
	other := &otherClient{}
	p := &presence{gateway: new(Gateway), client: other}
	before := map[catalogue.Kind]mark{catalogue.Tools: {1}, catalogue.Resources: {1}, catalogue.Templates: {1}}
	for _, step := range []struct{ change, newest uint64 }{{1, 2}, {2, 2}, {3, 3}} {
		p.gateway.accessChanges = step.newest
		p.tellOfOthers(before, step.change)
	}
	want := []string{mcp.NotificationToolsListChanged, mcp.NotificationResourcesListChanged}
	if want = append(want, want...); !slices.Equal(other.told, want) {
		t.Errorf("told %q, want %q", other.told, want)
	}
}

// otherClient sees empty lists, and keeps what it was told.
type otherClient struct {
	client
	told []string
}

func (c *otherClient) sees(*policy.Caller, *listing) (mark, bool) { return mark{}, true }
func (c *otherClient) tellChanged(l *listing)                     { c.told = append(c.told, l.changed) }
