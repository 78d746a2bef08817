package auth

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/host/pluginbuild"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// guest is the provider in testdata, built once.
var guest = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "guest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "guest.wasm")
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, "./testdata/guest")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOFLAGS=")
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, said)
	}
	binary, err := os.ReadFile(out)
	if err != nil {
		return nil, err
	}
	joined, _, _, err := pluginbuild.Join(binary) // as plugins are built
	return joined, err
})

func guestBinary(t testing.TB) []byte {
	t.Helper()
	binary, err := guest()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// brief is enough for what a test lets providers do, whose others loop for ever.
var brief = bounds{fuel: 200_000_000, time: 20 * time.Second}

func newEngine(t testing.TB, b bounds) *Engine {
	t.Helper()
	e, err := openEngine(EngineConfig{}, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}
