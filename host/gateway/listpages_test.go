package gateway

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/catalogue"
)

// A page costs what is on it, however long the list is.
func TestPagesOfALongList(t *testing.T) {
	listOf := func(count int) (m mergedList) {
		for n := range 4 {
			r := &renamedList{server: fmt.Sprint("s", n), mark: sha256.Sum256([]byte{byte(n)})}
			for i := range count / 4 {
				r.add(json.RawMessage(fmt.Sprintf(`{"uri":"a:%d.%d","name":%q}`, n, i, strings.Repeat("x", 1000))))
			}
			m = append(m, r)
		}
		return m
	}
	o := &owners{}
	o.add("s0", "a:0.0", false)
	o.add("s1", "a:0.0", false)
	short, long := listOf(2000), listOf(16000)
	cost := func(m mergedList, cursor string) float64 {
		return testing.AllocsPerRun(3, func() {
			if page, next, err := m.page(o, catalogue.Resources, cursor); err != nil || next == "" || len(page) < maxPage-2000 || len(page) > maxPage+1 {
				t.Errorf("%d bytes, then %q: %v", len(page), next, err)
			}
		})
	}
	first := cost(short, "")
	for at, got := range map[string]float64{"the first": cost(long, ""), "a later": cost(long, "12345"+long.mark())} {
		if got > first+100 { // of 1,000 elements
			t.Errorf("%s page of a long list makes %v objects, that of a short one %v", at, got, first)
		}
	}
}
