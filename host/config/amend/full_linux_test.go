package amend

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/wharf-mcp/wharf/host/config/tomledit"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// On a full disk the configuration stays as it was, and nothing is left beside it.
func TestFullDisk(t *testing.T) {
	disk := testenv.NewDisk(t)
	path := filepath.Join(disk.Dir, "wharf.toml")
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	change := func() error {
		f, err := tomledit.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Edits(f, []Edit{{Path: []string{"servers", "files", "timeout"}, Value: "5s"}})
		if err != nil {
			t.Fatal(err)
		}
		return c.Write(t.Context())
	}
	disk.Fill()
	if err := change(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("it was written: %v", err)
	}
	if text, err := os.ReadFile(path); string(text) != before || err != nil {
		t.Errorf("the file is %q, %v", text, err)
	}
	disk.Empty()
	if left, _ := filepath.Glob(filepath.Join(disk.Dir, "*")); len(left) > 2 { // the lock
		t.Errorf("left behind: %q", left)
	}
	if err := change(); err != nil {
		t.Error(err)
	}
}
