package session

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

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
