//go:build unix

package config

import (
	"path/filepath"
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
