package auth

import (
	"runtime"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
)

// TestRepliesAreBounded has replies that are as long as may be, of as many parts as
// there is room for: what is allocated for them is bounded.
func TestRepliesAreBounded(t *testing.T) {
	for _, format := range []string{`{"actions":[%s]}`, `{"actions":[{"kind":"http","http":{"headers":{%s}}}]}`} {
		for _, part := range []string{`{},`, `"a":"",`, `[],`, `0,`} {
			n := (step.MaxReply - len(format)) / len(part)
			reply := strings.Replace(format, "%s", strings.TrimSuffix(strings.Repeat(part, n), ","), 1)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := readReply([]byte(reply))
			runtime.ReadMemStats(&after)
			if spent, most := after.TotalAlloc-before.TotalAlloc, uint64(4*len(reply)+16<<20); spent > most || err == nil {
				t.Errorf("%.60s…: %d KB are allocated, want at most %d KB (%v)", reply, spent>>10, most>>10, err)
			}
		}
	}
}
