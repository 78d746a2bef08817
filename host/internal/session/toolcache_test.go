package session

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
)

const changed = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

// lists returns how often a fakeHTTP was asked for its tools after n lists and what
// happens between them.
func lists(t *testing.T, s *fakeHTTP, session *Session, n int, between func()) int {
	t.Helper()
	before := len(s.find("tools/list"))
	for i := range n {
		if i > 0 {
			between()
		}
		if _, err := session.ListTools(t.Context()); err != nil {
			t.Error(err)
		}
	}
	return len(s.find("tools/list")) - before
}

func TestFreshList(t *testing.T) {
	wait := func(d time.Duration) func() { return func() { time.Sleep(d) } }
	tests := []struct {
		ttl     string
		between func()
		want    int // lists of three that are asked for
	}{
		{`"ttlMs":60000,"cacheScope":"public",`, wait(29 * time.Second), 1},
		{`"ttlMs":60000,"cacheScope":"private",`, wait(29 * time.Second), 1},
		{`"ttlMs":60000,`, wait(30 * time.Second), 2},
		{`"ttlMs":60000,`, wait(60 * time.Second), 3},
		{`"ttlMs":1500.5,`, wait(750 * time.Millisecond), 1},
		{`"ttlMs":0,`, func() {}, 3},
		{``, func() {}, 3},
		{`"ttlMs":-5,`, func() {}, 3},
		{`"ttlMs":"60000",`, func() {}, 3},
		{`"ttlMs":null,`, func() {}, 3},
		{`"ttlMs":1e999,`, func() {}, 3},
		{`"ttlMs":1e300,`, wait(11 * time.Hour), 1},
		{`"ttlMs":1e300,`, wait(24 * time.Hour), 3},
	}
	for _, test := range tests {
		on := newHTTPScript()
		on["tools/list"] = ok(`{` + test.ttl + `"tools":[` + regional + `]}`)
		visit(t, on, func(t *testing.T, s *fakeHTTP) {
			if got := lists(t, s, s.open(), 3, test.between); got != test.want {
				t.Errorf("%s: asked %d times, want %d", test.ttl, got, test.want)
			}
		})
	}
}

// TestFreshPages holds that a list is as fresh as the first of its pages to go
// stale, each from when it came.
func TestFreshPages(t *testing.T) {
	on := newHTTPScript()
	on["tools/list"] = func(s *fakeHTTP, p post) {
		if member(p.Params, "cursor") == nil {
			ok(`{"ttlMs":60000,"tools":[],"nextCursor":"x"}`)(s, p)
			return
		}
		later(20*time.Second, ok(`{"ttlMs":50000,"tools":[]}`))(s, p)
	}
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		if got := lists(t, s, session, 2, func() { time.Sleep(39 * time.Second) }); got != 2 {
			t.Errorf("%d pages", got)
		}
		time.Sleep(time.Second)
		if got := lists(t, s, session, 1, nil); got != 2 {
			t.Errorf("%d pages after the first went stale", got)
		}
	})
}

// TestFreshListIsTheCallers holds that a caller cannot change what is kept.
func TestFreshListIsTheCallers(t *testing.T) {
	on := newHTTPScript()
	on["tools/list"] = ok(`{"ttlMs":60000,"tools":[` + regional + `]}`)
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		for range 3 {
			tools, _ := session.ListTools(t.Context())
			if tools[0].Name != "echo" {
				t.Error(tools[0].Name)
			}
			tools[0].Name = "mine"
		}
	})
}

// TestLegacyListIsNeverKept holds that the member means nothing in that era.
func TestLegacyListIsNeverKept(t *testing.T) {
	on := oldHTTPScript()
	on["tools/list"] = ok(`{"ttlMs":60000,"tools":[]}`)
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		if got := lists(t, s, s.open(), 3, func() {}); got != 3 {
			t.Errorf("asked %d times", got)
		}
	})
}

func TestListChanged(t *testing.T) {
	on := newHTTPScript()
	tell := func(p post) { p.peer.Deliver(0, []byte(changed), false); time.Sleep(time.Millisecond) }
	on["tools/list"] = inTurn(ok(`{"ttlMs":60000,"tools":[]}`), func(s *fakeHTTP, p post) {
		tell(p) // while it is on its way
		ok(`{"ttlMs":60000,"tools":[]}`)(s, p)
	}, ok(`{"ttlMs":60000,"tools":[]}`))
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		lists(t, s, session, 1, nil)
		tell(s.posts[0])
		if got := lists(t, s, session, 3, func() {}); got != 2 {
			t.Errorf("asked %d times, want twice: the first of these lists changed on its way", got)
		}
	})
}

// TestFreshOverReconnection has the connection end.
func TestFreshOverReconnection(t *testing.T) {
	for ttl, want := range map[int]int{60000: 0, 500: 1} {
		on := newHTTPScript()
		on["tools/list"] = ok(`{"ttlMs":` + strconv.Itoa(ttl) + `,"tools":[]}`)
		visit(t, on, func(t *testing.T, s *fakeHTTP) {
			session := s.open()
			lists(t, s, session, 1, nil)
			s.posts[0].hangUp()
			time.Sleep(time.Second)
			if _, err := call(t, session); err != nil {
				t.Error(err)
			}
			if got := lists(t, s, session, 1, nil); got != want || s.dials != 2 {
				t.Errorf("ttl %d: asked %d times, want %d", ttl, got, want)
			}
		})
	}
}

// TestCallListsOnce has many callers of tools that were not listed.
func TestCallListsOnce(t *testing.T) {
	on := newHTTPScript()
	on["tools/list"] = later(time.Second, ok(`{"tools":[`+regional+`]}`))
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				name := []string{"echo", "no such tool"}[i%2]
				if _, err := session.CallTool(t.Context(), name, nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := len(s.find("tools/list")); n != 1 {
			t.Errorf("asked %d times", n)
		}
		s.posts[0].peer.Deliver(0, []byte(changed), false)
		synctest.Wait()
		session.CallTool(t.Context(), "echo", nil)
		if n := len(s.find("tools/list")); n != 1 {
			t.Errorf("asked again for a tool that is known")
		}
		session.CallTool(t.Context(), "another", nil)
		session.CallTool(t.Context(), "a third", nil)
		if n := len(s.find("tools/list")); n != 2 {
			t.Errorf("asked %d times after the list had changed", n)
		}
	})
}

// TestCallFromAWarning has the callback call a tool that is not known, while a
// call waits for its list, which has changed already.
func TestCallFromAWarning(t *testing.T) {
	on := newHTTPScript()
	on["tools/list"] = inTurn(func(s *fakeHTTP, p post) {
		p.peer.Deliver(0, []byte(changed), false)
		later(time.Second, ok(`{"tools":[{"name":""}]}`))(s, p)
	}, ok(`{"tools":[]}`))
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		var session *Session
		called := make(chan error, 9)
		session = s.open(func(c *setup) {
			c.Warn = func(string) { _, err := session.CallTool(t.Context(), "other", nil); called <- err }
		})
		if _, err := call(t, session); err != nil {
			t.Error(err)
		}
		if err := <-called; err != nil {
			t.Error(err)
		}
	})
}

// TestMismatchesListOnce has many calls refused for their headers at once.
func TestMismatchesListOnce(t *testing.T) {
	on := newHTTPScript()
	on["tools/list"] = inTurn(ok(`{"tools":[{"name":"echo"}]}`), later(time.Second, ok(`{"tools":[`+regional+`]}`)))
	on["tools/call"] = func(s *fakeHTTP, p post) {
		react := ok(echoResult)
		if _, shown := p.header("mcp-param-region"); !shown {
			react = no(400, -32020)
		}
		later(time.Second, react)(s, p)
	}
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := session.CallTool(t.Context(), "echo", map[string]any{"region": "a"}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := len(s.find("tools/list")); n != 2 {
			t.Errorf("asked %d times", n)
		}
	})
}

// TestCallWithoutAList has the list fail: where the server has no list, the tool is called
// all the same, and where that is not known, the call was not sent.
func TestCallWithoutAList(t *testing.T) {
	on := newHTTPScript()
	on["tools/list"] = no(404, -32601)
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		if _, err := call(t, session); err != nil {
			t.Error(err)
		}
		s.react("tools/list", unreachable)
		if _, err := call(t, session); !errors.Is(err, rpc.ErrNotSent) {
			t.Error(err)
		}
		s.react("tools/list", mute)
		ctx, cancel := context.WithCancel(t.Context())
		go session.CallTool(t.Context(), "echo", nil) // holds the turn
		synctest.Wait()
		time.AfterFunc(time.Second, cancel)
		if _, err := session.CallTool(ctx, "echo", nil); !errors.Is(err, context.Canceled) || !errors.Is(err, rpc.ErrNotSent) {
			t.Error(err)
		}
		session.Close()
	})
}

// TestKnownWhileLost holds that the last list stays known, and stale, until it has been
// asked for again over the next connection.
func TestKnownWhileLost(t *testing.T) {
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(able(era, everything).with("tools/list", answer(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)))
			s := d.open()
			known := func(when string, stale bool) {
				t.Helper()
				if k := s.Known().Tools; len(k.Items) != 1 || k.Items[0].Name != "echo" || k.Stale != stale {
					t.Errorf("%s, %s: knows %+v", era, when, k)
				}
			}
			if _, err := s.ListTools(t.Context()); err != nil {
				t.Fatal(err)
			}
			known("at first", false)
			note(d.process(0), "notifications/tools/list_changed", `{}`)
			known("after a change", true)
			if _, err := s.ListTools(t.Context()); err != nil {
				t.Fatal(err)
			}
			known("listed again", false)
			d.process(0).exit(errors.New("exit status 1"))
			synctest.Wait()
			known("while it is lost", true)
			if _, err := call(t, s); err != nil {
				t.Fatal(err)
			}
			c := ownerOf(s).Current()
			if known("connected again", true); !s.Outdated(c) {
				t.Error("the list need not be renewed")
			}
			if s.Renew(t.Context(), c); s.Outdated(c) {
				t.Error("the list must be renewed again")
			}
			known("renewed", false)
		})
	}
}

// TestAnnotations holds that what a list says of a tool is read once, and counts until the list may have changed.
func TestAnnotations(t *testing.T) {
	on := newHTTPScript()
	says := func(hints string) func(*fakeHTTP, post) {
		return ok(`{"tools":[{"name":"echo","inputSchema":{"type":"object"},"annotations":` + hints + `},{"name":"bare","inputSchema":{"type":"object"}}]}`)
	}
	on["tools/list"] = inTurn(says(`{"readOnlyHint":true,"of":"x"}`), says(`{"destructiveHint":true}`))
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		for _, step := range []struct {
			do      func()
			want    string
			current bool
		}{
			{func() {}, "", false},
			{func() { lists(t, s, session, 1, nil) }, `{"readOnlyHint":true}`, true},
			{func() { s.posts[0].peer.Deliver(0, []byte(changed), false); synctest.Wait() }, "", false},
			{func() { lists(t, s, session, 1, nil) }, `{"destructiveHint":true}`, true},
			{func() { s.posts[0].hangUp(); time.Sleep(time.Second) }, "", false},
		} {
			step.do()
			got, current := session.Annotations("echo")
			if bare, _ := session.Annotations("bare"); current != step.current || current && string(got) != step.want || bare != nil {
				t.Errorf("%s, %v, and %s of a tool of which nothing is said; want %s, %v", got, current, bare, step.want, step.current)
			}
			if n := testing.AllocsPerRun(10, func() { session.Annotations("echo") }); step.current && n > 0 {
				t.Errorf("a call allocates %v times", n)
			}
		}
	})
}
