package guest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/wharf-mcp/wharf/plugins"
	"github.com/wharf-mcp/wharf/sdk/sdktest"
)

// What runs guests apart imports this package, so the tests outside of it bring it
// along: see worker_test.go.
var (
	serveWorker func() // makes this process a worker, and does not return
	apart       func(binary []byte) Program
)

// workerArgument makes the test binary a worker.
const workerArgument = "plugin-worker"

// SetApart is for the tests outside of this package.
func SetApart(serve func(), program func(binary []byte) Program) (argument string) {
	serveWorker, apart = serve, program
	return workerArgument
}

// elsewhere stands for a guest's own module in a worker.
var elsewhere Program = &noProgram{}

type noProgram struct{ Program }

// places are where a test runs its guests.
var places = map[string]Program{"here": nil, "apart": elsewhere}

// TestWorkersAgree plays the golden traces to the shipped guests in workers: what
// differs from a guest in this process shows here, line by line and byte by byte.
func TestWorkersAgree(t *testing.T) {
	for name, patterns := range goldens {
		binary := plugins.Builtin()[name]()
		for _, trace := range traces(t, patterns) {
			t.Run(name+" "+filepath.Base(trace), func(t *testing.T) {
				playConfig(t, Config{Remote: apart(binary)}, sdktest.Read(t, trace), nil)
			})
		}
	}
}

// BenchmarkApart is BenchmarkHop with the guest in a worker, and what it takes until
// there is one.
func BenchmarkApart(b *testing.B) {
	binary, err := os.ReadFile("../../../plugins/stdio/stdio.wasm")
	if err != nil {
		b.Fatal(err)
	}
	for _, size := range []int{200, 64_000} {
		line := append(bytes.Repeat([]byte("x"), size-1), '\n')
		b.Run("in/"+unit(size), func(b *testing.B) {
			_, sink := benchInstanceOf(b, Config{Remote: apart(binary)})
			for b.Loop() {
				sink.Data(line, false)
			}
		})
		b.Run("out/"+unit(size), func(b *testing.B) {
			inst, _ := benchInstanceOf(b, Config{Remote: apart(binary)})
			m := newTestMessage(1, string(line), nil)
			for b.Loop() {
				if err := inst.Send(b.Context(), m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("start", func(b *testing.B) {
		for b.Loop() {
			inst, err := New(b.Context(), Config{Plugin: "stdio", Remote: apart(binary)})
			if err != nil {
				b.Fatal(err)
			}
			inst.Close(b.Context())
		}
	})
}
