package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
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

// Of a configuration that may not be read, it is not said that it lies in the wrong place.
func TestUnreadableConfiguration(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "locked")
	if err := os.Mkdir(dir, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadDir(dir); err == nil {
		t.Skip("this user may read everything")
	}
	for _, path := range []string{dir, filepath.Join(dir, "mcp.json")} {
		if _, err := settingsOf(path); !errors.Is(err, fs.ErrPermission) || exit.HintOf(err) != "`ls -ld "+path+"` shows who may read it" {
			t.Errorf("%s: %v, hint %q", path, err, exit.HintOf(err))
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
