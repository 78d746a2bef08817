package rpc

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// TestProgressOvertakes has a handler that does not return from one notification
// while progress arrives: that is seen within Deliver, and heard in its turn.
func TestProgressOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, heard, entered, release := hold()
		var seen []string
		h.progress = func(params []byte) { seen = append(seen, string(params)) }
		p := NewPeer(Config{Link: &echo{}, Handler: h})
		tell := func(method, params string) {
			p.Deliver(0, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q%s}`, method, params), false)
		}
		tell("first", "")
		<-entered
		tell(methodProgress, `,"params":{"progress":1}`)
		tell(methodProgress, "")
		if want := []string{`{"progress":1}`, ""}; !slices.Equal(seen, want) {
			t.Errorf("saw %q, want %q", seen, want)
		}
		p.Close(nil)
		tell("late", "") // after the end nobody misses anything
		close(release)
		synctest.Wait()
		if want := []string{"first ", methodProgress + ` {"progress":1}`, methodProgress + " "}; !slices.Equal(*heard, want) {
			t.Errorf("heard %q, want %q", *heard, want)
		}
	})
}

// TestProgressWithoutAHandler has nobody to see it.
func TestProgressWithoutAHandler(t *testing.T) {
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
		if gaps++; in.Params != nil || in.Exchange != 0 {
			t.Errorf("the gap is %+v", in)
		}
		close(told)
	}
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
	if kept := len(*heard); gaps != 1 || kept < 10 || kept > 17 {
		t.Errorf("%d gaps among %d notifications", gaps, kept)
	}
}
