package session

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
)

func TestRootsChanged(t *testing.T) {
	some := func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///a"}}, nil }
	tests := []struct {
		era   mcp.Era
		roots func(context.Context) ([]mcp.Root, error)
		told  int
	}{
		{mcp.Legacy, some, 1},
		{mcp.Legacy, nil, 0},
		{mcp.Modern, some, 0},
	}
	for _, test := range tests {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(able(test.era, everything))
			s := d.open(func(c *setup) { c.Roots = test.roots })
			if err := s.RootsChanged(t.Context()); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			p := d.process(0)
			if told := len(p.find("notifications/roots/list_changed")); told != test.told {
				t.Errorf("%s: told %d times, want %d", test.era, told, test.told)
			}
			p.exit(errors.New("gone"))
			if err := s.RootsChanged(t.Context()); err != nil || d.started() != 1 {
				t.Errorf("%s: %v after %d starts: a server was started to be told of roots", test.era, err, d.started())
			}
		})
	}
}

// TestRootsBeforeTheFirstCall has servers that ask for the roots after the handshake, and refuse calls
// until they have them: they have them before the first call. Others wait for one ping, and for no answer
// that does not come.
func TestRootsBeforeTheFirstCall(t *testing.T) {
	asks := func(p *process, _ message) {
		p.print(`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)
	}
	slowRoots := func(context.Context) ([]mcp.Root, error) {
		time.Sleep(rootsTimeout / 4)
		return []mcp.Root{{URI: "file:///a"}}, nil
	}
	const opening = "server/discover initialize notifications/initialized"
	for name, c := range map[string]struct {
		server server
		roots  func(context.Context) ([]mcp.Root, error)
		want   string
		took   time.Duration
	}{
		"it asks": {oldServer().with("notifications/initialized", asks).with("ping", answer("{}")), slowRoots,
			opening + " ping reply ping tools/call", rootsTimeout/4 + rootsPause},
		"it asks for nothing": {oldServer().with("ping", answer("{}")), slowRoots, opening + " ping tools/call", 0},
		"it knows no ping":    {oldServer(), slowRoots, opening + " ping tools/call", 0},
		"it answers no ping":  {oldServer().with("ping", silent), slowRoots, opening + " ping notifications/cancelled tools/call", rootsTimeout},
		"no root is offered":  {oldServer().with("ping", answer("{}")), nil, opening + " tools/call", 0},
		"it is modern":        {newServer(), slowRoots, "server/discover tools/call", 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
				d := launcher(c.server.with("tools/call", answer(echoResult)))
				began := time.Now()
				s := d.open(func(c2 *setup) { c2.Roots = c.roots })
				if text, err := call(t, s); err != nil || text != "hi" {
					t.Errorf("%q, %v", text, err)
				}
				if got := d.process(0).received(); got != c.want || time.Since(began) != c.took {
					t.Errorf("after %v saw %s\nwant %s", time.Since(began), got, c.want)
				}
			})
		})
	}
}
