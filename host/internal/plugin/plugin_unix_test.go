//go:build unix

package plugin

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe is refused at once, not when something is written to it.
func TestReadRefusesWhatIsNoFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, filepath.Dir(pipe), "/dev/zero"} {
		if _, err := (File{Name: "pigeon", Path: path}).Read(); err == nil || !strings.Contains(err.Error(), "expected a regular file") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
