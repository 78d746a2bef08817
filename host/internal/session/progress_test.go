package session

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// working answers a call after some words of progress, a pause before each and
// before the answer.
func working(pause time.Duration, words ...string) act {
	return func(p *process, m message) {
		token := member(member(m.Params, "_meta"), "progressToken")
		go func() {
			for _, word := range words {
				time.Sleep(pause)
				note(p, "notifications/progress", fmt.Sprintf(`{"progressToken":%s,%s}`, token, word))
			}
			time.Sleep(pause)
			answer(echoResult)(p, m)
		}()
	}
}

func TestProgress(t *testing.T) {
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(able(era, everything).with("tools/call", working(20*time.Second,
				`"progress":0,"total":2.5,"message":"off"`, `"progress":1.5`, `"progress":1.5`, `"progress":1`, `"progress":"x"`, `"progress":2.5`)))
			s := d.open(func(c *setup) { c.Timeout = 2 * time.Minute })
			var got []mcp.Progress
			ctx := WithProgress(t.Context(), func(p mcp.Progress) {
				got = append(got, p)
				if err := s.Call(t.Context(), "server/discover", nil, nil); (err == nil) != (era == mcp.Modern) {
					t.Error(err) // a callback may use the session
				}
			})
			for range 2 {
				got = nil
				if _, err := s.CallTool(ctx, "echo", nil); err != nil {
					t.Error(era, err)
				}
				want := []mcp.Progress{{Done: 0, Total: 2.5, Message: "off"}, {Done: 1.5}, {Done: 2.5}}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s: heard %v, want %v", era, got, want)
				}
			}
			calls := d.process(0).find("tools/call")
			if a, b := member(calls[0].Params, "_meta"), member(calls[1].Params, "_meta"); string(a) == string(b) {
				t.Errorf("both calls have %s", a)
			}
		})
	}
}

// TestProgressTimeouts has calls that take longer than their timeout.
func TestProgressTimeouts(t *testing.T) {
	more := func(n int) (words []string) {
		for i := range n {
			words = append(words, fmt.Sprintf(`"progress":%d`, i))
		}
		return words
	}
	same := make([]string, 20)
	for i := range same {
		same[i] = `"progress":7`
	}
	tests := []struct {
		name  string
		act   act
		want  string // "" is a result
		after time.Duration
		busy  time.Duration // the host, from the beginning of the call on
	}{
		{"goes on", working(20*time.Second, more(9)...), "", 200 * time.Second, 0},
		{"too slow", working(31*time.Second, more(9)...), "timed out after 30s without progress", 30 * time.Second, 0},
		{"stands still", working(20*time.Second, same...), "timed out after 30s without progress", 50 * time.Second, 0},
		{"without end", working(20*time.Second, more(900)...), "timed out after 10m0s, progress or not", 10 * time.Minute, 0},
		{"the host is busy", working(100 * time.Second), "", 100 * time.Second, 90 * time.Second},
		{"the host was busy", working(200 * time.Second), "timed out after 30s without progress", 120 * time.Second, 90 * time.Second},
	}
	for _, test := range tests {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(oldServer().with("tools/call", test.act))
			var began time.Time
			s := d.open(func(c *setup) {
				c.Timeout, c.Config.MaxTimeout = 30*time.Second, 10*time.Minute
				c.Aside = func(since time.Time) time.Duration { return min(time.Since(since), began.Add(test.busy).Sub(since)) }
			})
			began = time.Now()
			_, err := s.CallTool(WithProgress(t.Context(), func(mcp.Progress) {}), "echo", nil)
			if took := time.Since(began); took != test.after {
				t.Errorf("%s: took %v", test.name, took)
			}
			if (err == nil) != (test.want == "") || err != nil && (!strings.HasSuffix(err.Error(), test.want) || !errors.Is(err, rpc.ErrTimeout) || errors.Is(err, context.Canceled)) {
				t.Errorf("%s: %v", test.name, err)
			}
			synctest.Wait()
			if told := len(d.process(0).find("notifications/cancelled")); (told == 1) != (test.want != "") {
				t.Errorf("%s: %d cancellations", test.name, told)
			}
			d.process(0).exit(errors.New("over"))
			time.Sleep(10 * time.Hour) // for what the server still has to say
		})
	}
}

// TestEndOfACallWithProgress holds that only its own timeouts take the place of why a
// call ended.
func TestEndOfACallWithProgress(t *testing.T) {
	why := errors.New("enough")
	for name, test := range map[string]struct {
		act  act
		want []error
	}{
		"the caller leaves": {silent, []error{context.Canceled, why}},
		"the server leaves": {exit("out of cheese"), []error{rpc.ErrClosed}},
		"an answer":         {refuse(-32000, "no", ""), []error{&rpc.Error{Code: -32000, Message: "no"}}},
	} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			s := launcher(oldServer().with("tools/call", test.act)).open()
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(why) })
			_, err := s.CallTool(WithProgress(ctx, func(mcp.Progress) {}), "echo", nil)
			for _, want := range test.want {
				var fault *rpc.Error
				if !errors.Is(err, want) && !(errors.As(err, &fault) && fault.Error() == want.Error()) {
					t.Errorf("%s: %v, want %v", name, err, want)
				}
			}
		})
	}
}

// TestProgressFlood has progress of unknown calls, of calls that are over, and a
// callback that does not return before its call is cancelled.
func TestProgressFlood(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer().with("tools/call", func(p *process, m message) {
			for i := range 1000 {
				note(p, "notifications/progress", fmt.Sprintf(`{"progressToken":%d,"progress":%d}`, i%3, i))
			}
			note(p, "notifications/progress", `{"progressToken":"1","progress":1}`)
			note(p, "notifications/progress", `[]`)
		}))
		s := d.open()
		ctx, cancel := context.WithCancel(t.Context())
		heard := 0
		_, err := s.CallTool(WithProgress(ctx, func(mcp.Progress) { heard++; cancel() }), "echo", nil)
		if !errors.Is(err, context.Canceled) || heard == 0 {
			t.Errorf("%v after %d", err, heard)
		}
		after := heard
		synctest.Wait()
		if heard != after {
			t.Error("heard more after the call")
		}
		if err := s.Call(t.Context(), "none", nil, nil); !strings.Contains(fmt.Sprint(err), "no none") {
			t.Error(err)
		}
	})
}

// TestProgressAfterTheCall is about a word that is on its way when the call ends.
func TestProgressAfterTheCall(t *testing.T) {
	var s Session
	_, over := s.track(t.Context(), func(mcp.Progress) { t.Error("heard it") }, nil)
	found := s.trackers.active[1]
	if over(); len(s.trackers.active) != 0 {
		t.Errorf("%d calls are tracked still", len(s.trackers.active))
	}
	found.hear(mcp.Progress{Done: 1}, nil)
	s.trackers.hear([]byte(`{"progressToken":1,"progress":1}`))
}

// WithProgress adds to the options of a context.
func WithProgress(ctx context.Context, f func(mcp.Progress)) context.Context {
	o := *optionsOf(ctx)
	o.Progress = f
	return WithOptions(ctx, o)
}
