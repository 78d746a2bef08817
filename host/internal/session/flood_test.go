package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/host/mcp"
)

// progressing answers a call at once, behind n words of progress.
func progressing(n int) act {
	return func(p *process, m message) {
		token := member(member(m.Params, "_meta"), "progressToken")
		for i := range n {
			note(p, "notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, token, i+1))
		}
		answer(echoResult)(p, m)
	}
}

// TestLastWordsOfProgress has the answer come right behind the progress, while
// another callback holds up all other notifications for good.
func TestLastWordsOfProgress(t *testing.T) {
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(able(era, everything).with("tools/call", progressing(5)))
			stuck, release := make(chan struct{}), make(chan struct{})
			s := d.open(func(c *setup) {
				c.Notify = func(method string, _ json.RawMessage, _ uint64) {
					if method == "stuck" {
						close(stuck)
						<-release
					}
				}
			})
			defer close(release)
			note(d.process(0), "stuck", `{}`)
			<-stuck
			var heard []float64
			if _, err := s.CallTool(WithProgress(t.Context(), func(p mcp.Progress) { heard = append(heard, p.Done) }), "echo", nil); err != nil {
				t.Error(err)
			}
			if want := []float64{1, 2, 3, 4, 5}; !reflect.DeepEqual(heard, want) {
				t.Errorf("%s: heard %v, want %v", era, heard, want)
			}
		})
	}
}

// TestProgressWhileOthersAreStuck has a call go on past its timeout because its
// server works on, although the callback of another call does not return.
func TestProgressWhileOthersAreStuck(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer().with("tools/call", working(20*time.Second, `"progress":1`, `"progress":2`)))
		stuck, release := make(chan struct{}), make(chan struct{})
		s := d.open(func(c *setup) {
			c.Timeout = 30 * time.Second
			c.Notify = func(method string, _ json.RawMessage, _ uint64) {
				if method == "stuck" {
					close(stuck)
					<-release
				}
			}
		})
		defer close(release)
		note(d.process(0), "stuck", `{}`)
		<-stuck
		heard := 0
		_, err := s.CallTool(WithProgress(t.Context(), func(mcp.Progress) { heard++ }), "echo", nil)
		if err != nil || heard != 2 {
			t.Errorf("heard %d, %v", heard, err)
		}
	})
}

// TestSlowListener hears a thousand words slowly: the first, some that waited, and
// the last. Meanwhile others call and are answered.
func TestSlowListener(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer().with("tools/call", progressing(1000)))
		s := d.open()
		var heard []float64
		began, release := make(chan struct{}), make(chan struct{})
		done := make(chan error)
		go func() {
			_, err := s.CallTool(WithProgress(t.Context(), func(p mcp.Progress) {
				if heard = append(heard, p.Done); len(heard) == 1 {
					close(began)
					<-release
				}
			}), "echo", nil)
			done <- err
		}()
		<-began
		synctest.Wait()
		if _, err := s.CallTool(t.Context(), "echo", nil); err != nil {
			t.Error(err)
		}
		other := 0.0
		if _, err := s.CallTool(WithProgress(t.Context(), func(p mcp.Progress) { other = p.Done }), "echo", nil); err != nil || other != 1000 {
			t.Errorf("the other call heard %v last, %v", other, err)
		}
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := len(heard); n < 2 || n > maxWords+1 || heard[n-1] != 1000 {
			t.Errorf("heard %d words: %v", n, heard)
		}
	})
}

// TestNestedProgress has a callback call a tool whose progress it hears as well.
func TestNestedProgress(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := launcher(newServer().with("tools/call", progressing(3))).open()
		inner, outer := 0, 0
		ctx := WithProgress(t.Context(), func(mcp.Progress) {
			outer++
			if _, err := s.CallTool(WithProgress(t.Context(), func(mcp.Progress) { inner++ }), "echo", nil); err != nil {
				t.Error(err)
			}
		})
		if _, err := s.CallTool(ctx, "echo", nil); err != nil || outer != 3 || inner != 9 {
			t.Errorf("heard %d words and %d within, %v", outer, inner, err)
		}
	})
}

// TestLeavingHearsNoMore has the caller leave while words wait.
func TestLeavingHearsNoMore(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer().with("tools/call", both(func(p *process, m message) {
			token := member(member(m.Params, "_meta"), "progressToken")
			for i := range 9 {
				note(p, "notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, token, i))
			}
		}, silent)))
		s := d.open()
		ctx, cancel := context.WithCancel(t.Context())
		heard := 0
		_, err := s.CallTool(WithProgress(ctx, func(mcp.Progress) {
			heard++
			synctest.Wait() // all nine are there
			cancel()
			synctest.Wait() // and the call has ended
		}), "echo", nil)
		if !errors.Is(err, context.Canceled) || heard != 1 {
			t.Errorf("heard %d words, %v", heard, err)
		}
	})
}

// TestDroppedNotifications has a server tell more than there is room for while
// a callback is slow. What the session itself must know is not lost by that.
func TestDroppedNotifications(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(hub(mcp.Modern).with("tools/list", answer(`{"ttlMs":60000,"tools":[]}`)))
		stuck, release, warned := make(chan struct{}), make(chan struct{}), ""
		s := d.open(func(c *setup) {
			c.Warn = func(text string) { warned = text }
			c.Notify = func(method string, _ json.RawMessage, _ uint64) {
				if method == "stuck" {
					close(stuck)
					<-release
				}
			}
		})
		u := subscribe(t, s, mcp.Filter{URIs: []string{"file:///a"}})
		list := func() int {
			if _, err := s.ListTools(t.Context()); err != nil {
				t.Error(err)
			}
			return len(d.process(0).find("tools/list"))
		}
		if first, second := list(), list(); first != 1 || second != 1 {
			t.Error("a fresh list was asked for again")
		}
		p := d.process(0)
		note(p, "stuck", `{}`)
		<-stuck
		bulk := strings.Repeat("x", 1<<20)
		for range 20 {
			note(p, "bulk", `["`+bulk+`"]`)
		}
		note(p, "notifications/tools/list_changed", `{"x":"`+bulk+`"}`)
		tell(p, 0, "notifications/resources/updated", "file:///a")
		if got := next(u); !reflect.DeepEqual(got, []string{"resource file:///a"}) {
			t.Errorf("heard %q", got)
		}
		if list() != 2 {
			t.Error("a list that changed was not asked for again")
		}
		if dropped := p.peer.Counters().NotesDropped; dropped == 0 {
			t.Error("nothing was dropped")
		}
		close(release)
		synctest.Wait()
		if !strings.Contains(warned, "were dropped") {
			t.Errorf("warned %q", warned)
		}
	})
}

// TestCallbacksMayCall has every callback of a session use it, in each way that
// waits for the server.
func TestCallbacksMayCall(t *testing.T) {
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(hub(era).with("tools/call", progressing(2)).with("prompts/get", both(func(p *process, m message) {
				if era == mcp.Legacy {
					p.print(`{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":{"message":"?"}}`)
					p.print(`{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{}}`)
					p.print(`{"jsonrpc":"2.0","id":"r","method":"roots/list"}`)
				} else if member(m.Params, "inputResponses") == nil {
					wants(`"inputRequests":{`+askName+`,`+askRoots+`,`+askModel+`}`)(p, m)
					return
				}
				answer(`{"messages":[]}`)(p, m)
			})))
			var s *Session
			called := make(chan string, 9)
			use := func(who string) {
				heard := 0
				if _, err := s.CallTool(WithProgress(t.Context(), func(mcp.Progress) { heard++ }), "echo", nil); err != nil || heard != 2 {
					t.Errorf("%s, %s: heard %d, %v", era, who, heard, err)
				}
				u, err := s.Subscribe(t.Context(), mcp.Filter{Tools: true})
				if err != nil {
					t.Errorf("%s, %s: %v", era, who, err)
					return
				}
				u.Close()
				called <- who
			}
			s = d.open(func(c *setup) {
				c.Elicit = func(context.Context, mcp.Elicitation) (mcp.ElicitResult, error) {
					use("elicit")
					return mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
				}
				c.Sample = func(context.Context, json.RawMessage) (json.RawMessage, error) {
					use("sample")
					return json.RawMessage(`{}`), nil
				}
				c.Roots = func(context.Context) ([]mcp.Root, error) { use("roots"); return nil, nil }
				c.Notify = func(method string, _ json.RawMessage, _ uint64) {
					if method == "notifications/tools/list_changed" {
						use("notify")
					}
				}
			})
			began := time.Now()
			if _, err := s.GetPrompt(WithProgress(t.Context(), func(mcp.Progress) {}), "p", nil); err != nil {
				t.Error(era, err)
			}
			note(d.process(0), "notifications/tools/list_changed", `{}`)
			synctest.Wait()
			if took := time.Since(began); took != 0 || len(called) != 4 {
				t.Errorf("%s: %d callbacks came to their end in %v", era, len(called), took)
			}
		})
	}
}

// TestResubscribeForgets loses the connection, and with it perhaps the word that
// a list has changed.
func TestResubscribeForgets(t *testing.T) {
	const fresh = `{"ttlMs":600000,`
	script := hub(mcp.Modern).
		with("tools/list", answer(fresh+`"tools":[]}`)).
		with("prompts/list", answer(fresh+`"prompts":[]}`)).
		with("resources/list", answer(fresh+`"resources":[]}`)).
		with("resources/templates/list", answer(fresh+`"resourceTemplates":[]}`)).
		with("resources/read", answer(fresh+`"contents":[]}`))
	methods := []string{"tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"}
	tests := []struct {
		filter mcp.Filter
		again  string // methods that are asked again
	}{
		{mcp.Filter{Tools: true}, "tools/list"},
		{mcp.Filter{Prompts: true}, "prompts/list"},
		{mcp.Filter{Resources: true}, "resources/list resources/templates/list resources/read"},
		{mcp.Filter{URIs: []string{"file:///a"}}, "resources/read"},
	}
	for _, test := range tests {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(script)
			s := d.open()
			ask := func() {
				_, a := s.ListTools(t.Context())
				_, b := s.ListPrompts(t.Context())
				_, c := s.ListResources(t.Context())
				_, e := s.ListResourceTemplates(t.Context())
				_, f := s.ReadResource(t.Context(), "file:///a")
				if err := errors.Join(a, b, c, e, f); err != nil {
					t.Error(err)
				}
			}
			subscribe(t, s, test.filter)
			ask()
			d.process(0).exit(errors.New("gone"))
			time.Sleep(time.Second)
			ask()
			var again []string
			for _, method := range methods {
				if len(d.process(1).find(method)) > 0 {
					again = append(again, method)
				}
			}
			if got := strings.Join(again, " "); got != test.again {
				t.Errorf("%+v: asked again for %q, want %q", test.filter, got, test.again)
			}
		})
	}
}

// TestLongWords has a server say much at a time: what waits to be heard stays small.
func TestLongWords(t *testing.T) {
	long := strings.Repeat("é", 1<<20)
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(hub(era).with("tools/call", working(time.Second, `"progress":1,"message":"`+long+`"`)))
			s := d.open()
			var heard []string
			ctx := WithProgress(t.Context(), func(p mcp.Progress) { heard = append(heard, p.Message) })
			if _, err := s.CallTool(ctx, "echo", nil); err != nil || len(heard) != 1 {
				t.Errorf("%s: heard %d words, %v", era, len(heard), err)
			} else if m := heard[0]; len(m) > maxMessage+len("…") || !strings.HasPrefix(m, "ééé") || !utf8.ValidString(m) {
				t.Errorf("%s: heard %d bytes", era, len(m))
			}
			u := subscribe(t, s, mcp.Filter{URIs: []string{"file:///a", "file:///" + long}})
			for _, uri := range []string{"file:///a", "other:///" + long, "another:///" + long, "file:///" + long} {
				tell(d.process(0), 0, "notifications/resources/updated", uri)
			}
			if got := next(u); !reflect.DeepEqual(got, []string{"resource file:///a", "missed", "resource file:///" + long}) {
				t.Errorf("%s: heard of %d changes, %.20q", era, len(got), got)
			}
		})
	}
}

// TestNotificationsAfterClose has a callback that is slower than its server. What waits for it
// when the session is closed is dropped.
func TestNotificationsAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer())
		began, release := make(chan struct{}), make(chan struct{})
		heard := 0
		s := d.open(func(c *setup) {
			c.Notify = func(string, json.RawMessage, uint64) {
				if heard++; heard == 1 {
					close(began)
					<-release
				}
			}
		})
		note(d.process(0), "first", `{}`)
		<-began
		for range 100 {
			note(d.process(0), "more", `{}`)
		}
		s.Close()
		close(release)
		synctest.Wait()
		if heard != 1 {
			t.Errorf("a closed session was told %d times more", heard-1)
		}
	})
}

// TestNotificationsOfManyConnections has a callback that does not return while connections
// come and go: it is never called twice at a time, and of what waits the newest two
// connections are heard.
func TestNotificationsOfManyConnections(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		const lives = 5
		d := launcher(oldServer())
		release := make(chan struct{})
		var heard []string
		s := d.open(func(c *setup) {
			c.Protocol = LegacyOnly
			c.Notify = func(method string, _ json.RawMessage, _ uint64) {
				heard = append(heard, method) // a race, if two were here
				<-release
			}
		})
		for n := range lives {
			if _, err := call(t, s); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				note(d.process(n), fmt.Sprintf("life %d", n), `{}`)
			}
			synctest.Wait()
			if n < lives-1 {
				d.process(n).exit(errors.New("gone"))
			}
		}
		close(release)
		synctest.Wait()
		slices.Sort(heard)
		if got := strings.Join(heard, ", "); got != "life 0, life 3, life 3, life 4, life 4" {
			t.Errorf("heard %s", got)
		}
	})
}
