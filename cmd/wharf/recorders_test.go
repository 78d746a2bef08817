package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/wharf-mcp/wharf/host/trace"
)

// A program that leaves on the spot has its trace in the file, and one that has
// none has nothing to do.
func TestRecorders(t *testing.T) {
	var none, some recorders
	if r, err := none.trace.open("", trace.Create); r != nil || err != nil {
		t.Errorf("got %v, %v", r, err)
	}
	none.flush()
	if err := none.trace.get().Close(); err != nil {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "t")
	first, err := some.trace.open(path, trace.Create)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := some.trace.open(path, trace.Create); again != first || err != nil {
		t.Errorf("a second host gets %p, %v; want %p", again, err, first)
	}
	some.flush()
	if text, err := os.ReadFile(path); err != nil || !bytes.HasSuffix(text, []byte("}\n")) {
		t.Errorf("%q, %v", text, err)
	}
	if err := some.trace.get().Close(); err != nil {
		t.Error(err)
	}
}
