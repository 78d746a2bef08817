//go:build unix

package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Reading does not wait for the writer of a pipe.
func TestDiscoverWaitsForNoPipe(t *testing.T) {
	dir := project(t, map[string]string{".kiro/file": ""})
	for _, name := range []string{"wharf.toml", ".kiro/agents"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if d := Discover(dir); len(d.Servers) > 0 || len(d.Warnings) != 1 {
		t.Errorf("servers %s, warnings %q", listed(d.Servers), d.Warnings)
	}
}

// A pipe in the place of a client's file is told of, and not waited for. A link to /dev/null is an empty file.
func TestFindClientsTellsOfPipes(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, folder := range []string{".gemini", ".cursor"} {
		if err := os.Mkdir(filepath.Join(home, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(home, ".gemini", "settings.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(os.DevNull, filepath.Join(home, ".cursor", "mcp.json")); err != nil {
		t.Fatal(err)
	}
	found, err := FindClients(home, "gemini", "cursor")
	if err != nil || len(found) != 1 || found[0].ID != "gemini" || !strings.HasSuffix(fmt.Sprint(found[0].Err), "is no regular file") {
		t.Errorf("found %v, %v", found, err)
	}
}
