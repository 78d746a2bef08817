package guest

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// machines are the ways to run a guest, of which only the first is for users.
var machines = map[string]wasm.Config{
	"compiled":               {},
	"compiled, unmetered":    {Unmetered: true},
	"interpreted":            {Interpreted: true},
	"interpreted, unmetered": {Interpreted: true, Unmetered: true},
}

// goldens are the guests as they are shipped, and the traces that each keeps to.
var goldens = map[string][]string{
	"stdio": {"../../../abi/testdata/traces/stdio.trace", "../../../plugins/stdio/testdata/*.trace"},
	"http":  {"../../../abi/testdata/traces/http.trace", "../../../abi/testdata/traces/unix.trace", "../../../plugins/http/testdata/*.trace"},
	"sse":   {"../../../abi/testdata/traces/sse.trace"},
}

// TestMachinesAgree plays the golden traces to the shipped guests on every executor:
// native code and wazero's interpreter, metered and as they were built. Each has to
// do what the trace says, line by line and byte by byte, so all do the same: what is
// wrong with one way of running a guest, the meter's included, shows here.
func TestMachinesAgree(t *testing.T) {
	if raceEnabled {
		t.Skip("one goroutine does everything, and the detector makes an interpreter take minutes")
	}
	for name, c := range machines {
		t.Run(name, func(t *testing.T) {
			if c.ABI = ABI(); !c.Interpreted {
				c.CacheDir = testenv.CodeDir()
			}
			e, err := wasm.NewEngine(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { e.Close() })
			for name, patterns := range goldens {
				m, err := e.Load(t.Context(), name, plugins.Builtin()[name]())
				if err != nil {
					t.Fatal(err)
				}
				for _, trace := range traces(t, patterns) {
					t.Run(name+" "+filepath.Base(trace), func(t *testing.T) {
						playModule(t, m, sdktest.Read(t, trace), nil)
					})
				}
			}
		})
	}
}

// traces are the files of all patterns, each of which has some.
func traces(t *testing.T, patterns []string) (all []string) {
	t.Helper()
	for _, pattern := range patterns {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no traces: %v", pattern, err)
		}
		all = append(all, files...)
	}
	return slices.DeleteFunc(all, func(file string) bool {
		return filepath.Base(file) == "closed.trace" // see TestTracesInTheSandbox
	})
}
