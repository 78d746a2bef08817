package main

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func TestNearest(t *testing.T) {
	names := []string{"tools", "call", "servers", "filesystem"}
	for word, want := range map[string]string{
		"tols": "tools", "tolos": "tools", "cal": "call", "serves": "servers", "files": "filesystem",
		"xyzzy": "", "x": "", strings.Repeat("tools", 50): "", "TOOLS": "tools",
	} {
		if got := meant(word, names); got != want {
			t.Errorf("meant(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestWarnings(t *testing.T) {
	var stderr strings.Builder
	a := &app{Terminal: &term.Terminal{Err: &stderr}}
	a.hear(host.Event{Server: "files", Warning: "a line that is no message: \x1b"})
	a.hear(host.Event{Server: "files", Method: mcp.NotificationProgress})
	if want := "warning: files: a line that is no message: \\x1b\n"; stderr.String() != want {
		t.Errorf("stderr %q, want %q", stderr.String(), want)
	}
}
