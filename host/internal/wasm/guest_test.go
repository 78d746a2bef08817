package wasm

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// goGuest builds testdata/guest, a plain Go guest, once per run of the tests.
var goGuest = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "guest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "guest.wasm")
	c := exec.Command("go", "build", "-buildmode=c-shared", "-trimpath", "-ldflags=-s -w -buildid=", "-o", out, "main.go")
	c.Dir = filepath.Join("testdata", "guest")
	c.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if _, err := c.Output(); err != nil {
		return nil, err
	}
	return os.ReadFile(out)
})

func guestBinary(t testing.TB) []byte {
	t.Helper()
	b, err := goGuest()
	if err != nil {
		t.Fatal("build the Go guest:", err)
	}
	return b
}
