package audit

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

// On a full disk a required log has the line of each call that it let begin: a program that has just started begins
// none, and one that wrote before ends those that are under way. Once there is room, calls begin again.
func TestFullDisk(t *testing.T) {
	disk := testenv.NewDisk(t)
	path := filepath.Join(disk.Dir, "audit.jsonl")
	l := opened(t, path, Options{Required: true}, fileCap)
	if err := l.Ready(); err != nil {
		t.Fatal(err)
	}
	disk.Fill()
	r := sample
	written := 0
	for range 20 { // they were under way, or begin while the reserve is there
		if err := l.Write(&r); err != nil {
			t.Fatal(err)
		}
		written++
	}
	for l.Ready() == nil {
		if err := l.Write(&r); err != nil {
			t.Fatal(err)
		}
		if written++; written > reserveSize {
			t.Fatal("calls go on")
		}
	}
	disk.Fill() // what the reserve had
	for range 3 {
		if err := opened(t, path, Options{Required: true}, fileCap).Ready(); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("a program that starts on a full disk is told %v", err)
		}
	}
	disk.Empty()
	if err := errors.Join(l.Ready(), l.Write(&r)); err != nil {
		t.Fatal(err)
	}
	if got, broken := read(t, path); broken != 0 || len(got) != written+1 {
		t.Errorf("%d broken lines, %d whole ones, want %d", broken, len(got), written+1)
	}
}

// Lines that have no room, in spite of the reserve, are whole or not there, and the log says how many are missing. A
// short line that says that may fit where no other does.
func TestLinesWithoutRoom(t *testing.T) {
	disk := testenv.NewDisk(t)
	path := filepath.Join(disk.Dir, "audit.jsonl")
	if err := opened(t, path, Options{Required: true}, fileCap).Ready(); err != nil {
		t.Fatal(err)
	}
	l := opened(t, path, Options{}, fileCap)
	disk.Fill()
	r := sample
	written, lost := 0, 0
	for range 4096 / len(sampleLine) * 2 { // more than what the file has of the disk
		if err := l.Write(&r); err == nil {
			written++
		} else if lost++; !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(path + ".reserve"); err != nil { // it is for logs that are required
		t.Error(err)
	}
	disk.Empty()
	if err := l.Write(&r); err != nil {
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
