package host_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
)

// BenchmarkCall is a tool call and its answer, to a child process and back.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		args := map[string]any{"message": strings.Repeat("x", size)}
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			s := connect(b, newHost(b, host.Config{}), server("modern"))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.CallTool(b.Context(), "echo", args); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("64x100", func(b *testing.B) {
		s := connect(b, newHost(b, host.Config{}), server("modern"))
		args := map[string]any{"message": strings.Repeat("x", 100)}
		b.ReportAllocs()
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := s.CallTool(b.Context(), "echo", args); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
