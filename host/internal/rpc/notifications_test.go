package rpc

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
)

// TestNotificationsKeepTheirOrder also under a flood, of which nothing is lost
// while the handler keeps up, and which answers overtake.
func TestNotificationsKeepTheirOrder(t *testing.T) {
	const flood = 200_000
	var next int
	var wg sync.WaitGroup
	wg.Add(flood)
	h := &script{notify: func(in *Incoming) {
		if want := `{"n":` + strconv.Itoa(next) + `}`; string(in.Params) != want || in.Method != "notifications/x" {
			t.Errorf("heard %s %s, want %s", in.Method, in.Params, want)
		}
		next++
		wg.Done()
	}}
	p := NewPeer(Config{Link: &echo{}, Handler: h})
	var msg []byte
	for n := range flood {
		msg = append(msg[:0], `{"jsonrpc":"2.0","method":"notifications/x","params":{"n":`...)
		msg = append(strconv.AppendInt(msg, int64(n), 10), `}}`...)
		if got := p.Deliver(4, msg, false); got != abi.VerdictNote {
			t.Fatal(got)
		}
	}
	p.Close(nil)
	wg.Wait()
	if got, want := p.Counters(), (Counters{Notifications: flood}); got != want {
		t.Errorf("%+v", got)
	}
}

// hold returns a handler that keeps what it hears and does not return from the
// first notification before it may.
func hold() (h *script, heard *[]string, entered, release chan struct{}) {
	heard = new([]string)
	entered, release = make(chan struct{}), make(chan struct{})
	h = &script{notify: func(in *Incoming) {
		if len(*heard) == 0 {
			close(entered)
			<-release
		}
		*heard = append(*heard, in.Method+" "+string(in.Params[:min(len(in.Params), 40)]))
	}}
	return h, heard, entered, release
}

// TestAwaitHeard holds that it waits for what has arrived and is not heard yet, no longer than
// its context, and not at all where there is nothing to hear.
func TestAwaitHeard(t *testing.T) {
	h, heard, entered, release := hold()
	p := NewPeer(Config{Link: &echo{}, Handler: h})
	p.AwaitHeard(t.Context())
	for range 3 {
		p.Deliver(0, []byte(`{"jsonrpc":"2.0","method":"notifications/x"}`), false)
	}
	<-entered
	over, cancel := context.WithCancel(t.Context())
	cancel()
	p.AwaitHeard(over)
	p.Close(nil)
	close(release)
	p.AwaitHeard(t.Context())
	if len(*heard) != 3 {
		t.Errorf("heard %q", *heard)
	}
	p.AwaitHeard(t.Context())
}

// TestAwaitHeardUnderAFlood holds that a server that never stops delays it no more than by what
// was queued.
func TestAwaitHeardUnderAFlood(t *testing.T) {
	var p *Peer
	note := func() { p.Deliver(0, []byte(`{"jsonrpc":"2.0","method":"notifications/x"}`), false) }
	p = NewPeer(Config{Link: &echo{}, Handler: &script{notify: func(*Incoming) { note() }}})
	note()
	p.AwaitHeard(t.Context())
	p.Close(nil)
}

func TestFullQueueSheds(t *testing.T) {
	h, heard, entered, release := hold()
	done := make(chan struct{})
	inner := h.notify
	h.notify = func(in *Incoming) {
		inner(in)
		if in.Method == "last" {
			close(done)
		}
	}
	p := NewPeer(Config{Link: &echo{}, Handler: h})
	tell := func(method, params string) {
		p.Deliver(0, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params), false)
	}
	tell("first", `{}`)
	<-entered

	bulk := strings.Repeat("x", 1<<20)
	tell("notifications/tools/list_changed", `{"n":1}`)
	tell("notifications/progress", `{"progressToken":7,"progress":1}`)
	tell("notifications/progress", `{"progressToken":8,"progress":1}`)
	tell("notifications/resources/updated", `{"uri":"a"}`)
	for n := range 15 {
		tell("notifications/message", fmt.Sprintf(`{"n":%d,"data":"%s"}`, n, bulk))
	}
	tell("notifications/tools/list_changed", `{"n":2}`)
	tell("notifications/progress", `{"progressToken":7,"progress":2}`)
	tell("notifications/resources/updated", `{"uri":"a"}`)
	tell("notifications/resources/updated", `{"uri":"b"}`)
	tell("notifications/message", fmt.Sprintf(`{"n":15,"data":"%s"}`, bulk)) // one too many
	tell("notifications/elicitation/complete", `{"kept":true}`)
	tell("last", `{}`)
	p.Close(nil)
	close(release)
	<-done

	c := p.Counters()
	if c.Coalesced != 3 || c.LogsDropped == 0 || c.NotesDropped != 0 || c.Notifications != 27 {
		t.Errorf("%+v", c)
	}
	var short []string
	for _, line := range *heard {
		short = append(short, strings.TrimPrefix(strings.SplitN(line, `,"data`, 2)[0], "notifications/"))
	}
	want := []string{`first {}`, `progress {"progressToken":8,"progress":1}`}
	for n := int(c.LogsDropped); n < 15; n++ {
		want = append(want, fmt.Sprintf(`message {"n":%d`, n))
	}
	want = append(want, `tools/list_changed {"n":2}`, `progress {"progressToken":7,"progress":2}`,
		`resources/updated {"uri":"a"}`, `resources/updated {"uri":"b"}`, `message {"n":15`, `elicitation/complete {"kept":true}`, `last {}`)
	if !slices.Equal(short, want) {
		t.Errorf("heard\n%s\nwant\n%s", strings.Join(short, "\n"), strings.Join(want, "\n"))
	}
}

// TestQueueIsBounded: what can be neither coalesced nor dropped by age is
// dropped when it comes, and memory stays within the bound.
func TestQueueIsBounded(t *testing.T) {
	h, _, entered, release := hold()
	p := NewPeer(Config{Link: &echo{}, Handler: h})
	msg := fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"custom","params":["%s"]}`, strings.Repeat("x", 100_000))
	p.Deliver(0, msg, false)
	<-entered
	const flood = 1000
	for range flood {
		p.Deliver(0, msg, false)
	}
	p.notifications.mu.Lock()
	size := p.notifications.filling.size
	p.notifications.mu.Unlock()
	c := p.Counters()
	if size > maxQueued || c.NotesDropped == 0 || c.NotesDropped > flood-160 {
		t.Errorf("%d bytes are queued, %+v", size, c)
	}
	p.Close(nil)
	close(release)
}

func TestOneLargeNotificationFits(t *testing.T) {
	done := make(chan int, 1)
	p := NewPeer(Config{Link: &echo{}, Handler: &script{notify: func(in *Incoming) { done <- len(in.Params) }}})
	defer p.Close(nil)
	p.Deliver(0, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"custom","params":["%s"]}`, strings.Repeat("x", maxQueued)), false)
	if got := <-done; got != maxQueued+4 {
		t.Error(got)
	}
}
