package rpc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// TestHeedOvertakes has a handler that does not return from one notification while
// others arrive: they are seen within Deliver, and heard in their turn.
func TestHeedOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, heard, entered, release := hold()
		var seen []string
		h.heed = func(method string, params []byte) { seen = append(seen, method+" "+string(params)) }
		p := NewPeer(Config{Link: &echo{}, Handler: h})
		tell := func(method, params string) {
			p.Deliver(0, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q%s}`, method, params), false)
		}
		want := []string{"first ", methodProgress + ` {"progress":1}`, "custom "}
		tell("first", "")
		<-entered
		tell(methodProgress, `,"params":{"progress":1}`)
		tell("custom", "")
		if !slices.Equal(seen, want) {
			t.Errorf("saw %q, want %q", seen, want)
		}
		p.Close(nil)
		tell("late", "") // after the end: not told
		close(release)
		synctest.Wait()
		if !slices.Equal(*heard, want) {
			t.Errorf("heard %q, want %q", *heard, want)
		}
	})
}

// TestNotesWithoutAHandler has no handler for them.
func TestNotesWithoutAHandler(t *testing.T) {
	p := NewPeer(Config{Link: &echo{}})
	p.Deliver(0, progress, false)
	p.Close(nil)
}

// TestGapIsTold holds that a handler learns of what was dropped, once for each
// batch, behind what was kept of it.
func TestGapIsTold(t *testing.T) {
	h, heard, entered, release := hold()
	gaps, told := 0, make(chan struct{})
	inner := h.notify
	h.notify = func(in *Incoming) {
		if in.Method != "" {
			inner(in)
			return
		}
		if gaps++; in.Params != nil {
			t.Errorf("the gap is %+v", in)
		}
		close(told)
	}
	heeded := 0
	h.heed = func(string, []byte) { heeded++ }
	p := NewPeer(Config{Link: &echo{}, Handler: h})
	msg := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"custom","params":["%s"]}`, strings.Repeat("x", 1<<20))
	p.Deliver(0, msg, false)
	<-entered
	for range 40 {
		p.Deliver(0, msg, false)
	}
	p.Close(nil)
	close(release)
	<-told
	if kept := len(*heard); gaps != 1 || kept < 10 || kept > 17 || heeded != 41 {
		t.Errorf("%d gaps among %d notifications, %d were heeded", gaps, kept, heeded)
	}
}
