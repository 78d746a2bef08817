// Package benchmark measures calls of a tool from end to end. It stands apart since its server
// is the program itself, and the collector of a Go program takes longer with each package that
// is linked: among the tests of host, a test that brought in a library made each call 5 % slower.
package benchmark

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// serveVariable makes the program a server.
const serveVariable = "WHARF_BENCHMARK_SERVES"

func TestMain(m *testing.M) {
	if os.Getenv(serveVariable) != "" {
		serve()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// BenchmarkCall calls a tool of a modern server over stdio that answers with its argument of
// 100 B, 10 KB and 1 MB, one call after the other, and from 32 goroutines per processor.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			call := echo(b, size)
			for b.Loop() {
				call()
			}
		})
	}
	b.Run("64x100", func(b *testing.B) {
		call := echo(b, 100)
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				call()
			}
		})
	})
}

// echo connects to a server and returns a call whose argument has size bytes.
func echo(b *testing.B, size int) (call func()) {
	h, err := host.New(b.Context(), host.Config{Plugins: plugins.Builtin(), CacheDir: testenv.CodeDir(), OneShot: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { h.Close() })
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	s, err := h.Connect(b.Context(), host.Server{Name: "echo", Command: self, Env: map[string]string{serveVariable: "1"}})
	if err != nil {
		b.Fatal(err)
	}
	args := map[string]any{"message": strings.Repeat("x", size)}
	b.ReportAllocs()
	return func() {
		if _, err := s.CallTool(b.Context(), "echo", args); err != nil {
			b.Error(err)
		}
	}
}

// serve answers on stdin and stdout until the input ends.
func serve() {
	in, out := bufio.NewReaderSize(os.Stdin, 1<<20), bufio.NewWriterSize(os.Stdout, 1<<20)
	for line, err := in.ReadBytes('\n'); err == nil; line, err = in.ReadBytes('\n') {
		var r struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Arguments struct {
					Message json.RawMessage `json:"message"`
				} `json:"arguments"`
			} `json:"params"`
		}
		json.Unmarshal(line, &r)
		switch r.Method {
		case "server/discover":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete"}}`+"\n", r.ID)
		case "tools/list":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","inputSchema":{"type":"object"}}],"resultType":"complete"}}`+"\n", r.ID)
		case "tools/call":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%s}],"resultType":"complete"}}`+"\n", r.ID, r.Params.Arguments.Message)
		}
		out.Flush()
	}
}
