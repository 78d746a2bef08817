package audit

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

// On a full disk lines are whole or not there, an error says so, calls stop if the log is required, and once there
// is room the log says how many lines are missing. A short line that says that may fit where no other does.
func TestFullDisk(t *testing.T) {
	disk := testenv.NewDisk(t)
	path := filepath.Join(disk.Dir, "audit.jsonl")
	l := opened(t, path, Options{Required: true}, fileCap)
	disk.Fill()
	r := sample
	written, lost := 0, 0
	for l.Ready() == nil { // as each call
		if err := l.Write(&r); err == nil {
			written++
		} else if lost++; !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		if written+lost > 4096/len(`{"at":"","missing":1}`) { // more than what the file has of the disk
			t.Fatal("calls go on")
		}
	}
	disk.Empty()
	if err := errors.Join(l.Ready(), l.Write(&r)); err != nil {
		t.Fatal(err)
	}
	got, broken := read(t, path)
	whole, missing := 0, 0
	for _, r := range got {
		if missing += r.Missing; r.Missing == 0 {
			whole++
		}
	}
	if broken != 0 || whole != written+1 || missing != lost || lost == 0 {
		t.Errorf("%d broken lines, %d whole ones, want %d; %d missing, want %d", broken, whole, written+1, missing, lost)
	}
}
