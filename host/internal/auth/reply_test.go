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

// TestPartsOfAReply is about the last part that is read, and about commas that are none.
func TestPartsOfAReply(t *testing.T) {
	var list struct{ A []int }
	read := func(n int) error { return strict([]byte(`{"a":[0`+strings.Repeat(",0", n)+`]}`), &list) }
	if err := read(maxParts); err != nil || len(list.A) != maxParts+1 {
		t.Errorf("at the bound: %d, %v", len(list.A), err)
	}
	if err := read(maxParts + 1); err == nil || err.Error() != "it has 50001 parts, there may be 50000" {
		t.Errorf("one over: %v", err)
	}
	for text, want := range map[string]int{`[1,2]`: 1, `",,"`: 0, `["\",\"",","]`: 1, `["\\",0]`: 1, `"`: 0, `"\`: 0} {
		if got := parts([]byte(text)); got != want {
			t.Errorf("%s has %d parts, want %d", text, got, want)
		}
	}
}
