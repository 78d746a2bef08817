package daemon

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

// A log keeps the newest lines, and never more than twice its bound.
func TestLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer debug.SetCrashOutput(nil, debug.CrashOptions{})
	defer l.Close()
	l.max = 1000
	line := strings.Repeat("x", 99) + "\n"
	for range 95 {
		if n, err := l.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	l.Write([]byte("last\n"))
	for path, want := range map[string]int{path: 505, Older(path): 1000} {
		text, err := os.ReadFile(path)
		if err != nil || len(text) != want {
			t.Errorf("%s: %d bytes, want %d; %v", filepath.Base(path), len(text), want, err)
		}
	}
	if text, _ := os.ReadFile(path); !bytes.HasSuffix(text, []byte("last\n")) {
		t.Error("the newest line is missing")
	}
	again, err := OpenLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.size != 505 {
		t.Errorf("a log that is there counts as %d bytes", again.size)
	}
}
