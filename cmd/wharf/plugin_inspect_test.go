package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/pluginstore"
)

// What is said of a plugin fits the terminal, except for what is copied.
func TestPluginFitsTheTerminal(t *testing.T) {
	var out strings.Builder
	a := &app{Terminal: &term.Terminal{Out: &out, OutTTY: true, Width: 60}}
	d := description{Description: pluginstore.Description{File: "/a folder/" + strings.Repeat("x", 70), SHA256: strings.Repeat("a", 64), Imports: slices.Repeat([]string{"wharf1.take (i32)"}, 20), Exports: []string{"memory"}}}
	if err := a.printPlugin(d); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		copied := strings.Contains(line, "xxx") || strings.Contains(line, "aaa")
		if line = strings.TrimRight(line, "\n"); (plain.Width(line) > 60) != copied {
			t.Errorf("%q", line)
		}
	}
	if strings.Count(out.String(), "wharf1.take") != 20 {
		t.Errorf("%s", out.String())
	}
}
