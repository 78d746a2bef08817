package modules

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/internal/worker"
)

// A host that has seen many versions of a plugin holds the native code of those that
// are in use. An instance keeps its engine when the module is gone, too.
func TestOldVersionsAreGivenBack(t *testing.T) {
	plugin, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "transport-socket-c", "socket.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	f := &foreign{compiler: worker.Compiler{
		Cache: worker.CodeCacheIn(t.TempDir()), CacheUnavailable: func(err error) { t.Error(err) },
	}}
	defer f.close()
	version := func(n int) *wasm.Module {
		t.Helper()
		m, err := f.module(t.Context(), "socket", slices.Concat(plugin, fmt.Appendf([]byte{0, 4, 3}, "%03d", n)))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	first := version(0)
	for n := 1; n <= 20; n++ {
		version(n)
	}
	// The goroutine that compiled a version may hold its engine for a moment after module has returned.
	var last *wasm.Module
	held := 0
	for n := 21; n <= 120 && (held != 2 || len(f.engines) != 2); n++ {
		runtime.GC()
		last = version(n)
		held = 0
		for _, e := range f.engines {
			if e.Value() != nil {
				held++
			}
		}
	}
	if held != 2 || len(f.engines) != 2 {
		t.Errorf("with two versions in use, the host holds %d engines, %d of them alive", len(f.engines), held)
	}
	runtime.KeepAlive(first)
	runtime.KeepAlive(last)
}
