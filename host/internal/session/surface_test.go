package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// everything is what the servers of these tests declare.
const everything = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"logging":{},"completions":{},` +
	`"resources":{"listChanged":true,"subscribe":true}}`

// able returns a server of an era that declares some capabilities, "" for none at
// all.
func able(era mcp.Era, capabilities string) server {
	if capabilities != "" {
		capabilities = `"capabilities":` + capabilities + `,`
	}
	if era == mcp.Modern {
		return newServer().with("server/discover", answer(`{`+capabilities+`"supportedVersions":["2026-07-28"]}`))
	}
	return oldServer().with("initialize", answer(`{`+capabilities+`"protocolVersion":"2025-11-25","serverInfo":{"name":"old","version":"1"}}`))
}

var eras = []mcp.Era{mcp.Legacy, mcp.Modern}

// note has a server tell something.
func note(p *process, method, params string) {
	p.print(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
}

func TestSurface(t *testing.T) {
	ask := map[string]func(ctx context.Context, s *Session) (any, error){
		"resources/list":           func(ctx context.Context, s *Session) (any, error) { return s.ListResources(ctx) },
		"resources/templates/list": func(ctx context.Context, s *Session) (any, error) { return s.ListResourceTemplates(ctx) },
		"resources/read":           func(ctx context.Context, s *Session) (any, error) { return s.ReadResource(ctx, "file:///a") },
		"prompts/list":             func(ctx context.Context, s *Session) (any, error) { return s.ListPrompts(ctx) },
		"prompts/get": func(ctx context.Context, s *Session) (any, error) {
			return s.GetPrompt(ctx, "p", map[string]string{"a": "<1>"})
		},
		"completion/complete": func(ctx context.Context, s *Session) (any, error) {
			return s.Complete(ctx, mcp.CompleteParams{Ref: mcp.PromptRef("p"), Argument: mcp.Argument{Name: "a", Value: "x"}})
		},
	}
	tests := []struct {
		method, params, result, want string
	}{
		{"resources/list", `{}`, `{"resources":[{"uri":"file:///a","name":"a","size":3,"icons":[]}]}`, `[{"uri":"file:///a","name":"a","size":3,"icons":[]}]`},
		{"resources/templates/list", `{}`, `{"resourceTemplates":[{"uriTemplate":"file:///{a}","name":"a","x":1}]}`, `[{"uriTemplate":"file:///{a}","name":"a","x":1}]`},
		{"resources/read", `{"uri":"file:///a"}`, `{"contents":[{"uri":"file:///a","text":"x"}],"x":1}`, `{"contents":[{"uri":"file:///a","text":"x"}],"x":1}`},
		{"prompts/list", `{}`, `{"prompts":[{"name":"p","arguments":[{"name":"a","required":true}],"x":1}]}`, `[{"name":"p","arguments":[{"name":"a","required":true}],"x":1}]`},
		{"prompts/get", `{"name":"p","arguments":{"a":"<1>"}}`, `{"messages":[{"role":"user","content":{"type":"text","text":"x"}}]}`, `{"messages":[{"role":"user","content":{"type":"text","text":"x"}}]}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":"x"}}`,
			`{"completion":{"values":["xy"],"total":1}}`, `{"values":["xy"],"total":1}`},
	}
	for _, test := range tests {
		for _, era := range eras {
			bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
				d := launcher(able(era, everything).with(test.method, answer(test.result)))
				got, err := ask[test.method](t.Context(), d.open())
				if text, _ := json.Marshal(got); err != nil || string(text) != test.want {
					t.Errorf("%s: got %s, %v; want %s", test.method, text, err, test.want)
				}
				params := string(d.process(0).find(test.method)[0].Params)
				if want := strings.TrimSuffix(test.params, "}"); !strings.HasPrefix(strings.ReplaceAll(params, `\u003c1\u003e`, "<1>"), want) {
					t.Errorf("%s: sent %s, want %s", test.method, params, test.params)
				}
			})
			bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
				d := launcher(able(era, `{"tools":{},"logging":null}`).with(test.method, answer(test.result)))
				_, err := ask[test.method](t.Context(), d.open())
				if !errors.Is(err, ErrUnsupported) || !errors.Is(err, rpc.ErrNotSent) || !strings.Contains(err.Error(), "declares tools, logging") {
					t.Errorf("%s of a server without it: %v", test.method, err)
				}
				if sent := d.process(0).find(test.method); len(sent) > 0 {
					t.Errorf("%s was sent", test.method)
				}
			})
			bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
				if _, err := ask[test.method](t.Context(), launcher(able(era, "").with(test.method, answer(test.result))).open()); err != nil {
					t.Errorf("%s of a server that declares nothing: %v", test.method, err)
				}
			})
		}
	}
}

// TestListsOfResources holds that all lists have the rules of that of tools.
func TestListsOfResources(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		n, warnings := 0, 0
		s := launcher(able(mcp.Legacy, everything).with("resources/list", func(p *process, m message) {
			n++
			answer(fmt.Sprintf(`{"resources":[{"uri":"u%d","name":"n"},{"name":"none"}],"nextCursor":"%d"}`, n, n%3))(p, m)
		}).with("prompts/list", func(p *process, m message) {
			n++
			answer(fmt.Sprintf(`{"prompts":[{"name":"p%d"}],"nextCursor":"%d"}`, n, n))(p, m)
		})).open(func(c *setup) { c.Warn = func(string) { warnings++ } })
		if list, err := s.ListResources(t.Context()); err != nil || len(list) != 4 || warnings != 5 {
			t.Errorf("%d resources, %d warnings, %v", len(list), warnings, err)
		}
		n = 0
		if _, err := s.ListPrompts(t.Context()); !errors.Is(err, ErrInvalidResult) || n != mcp.MaxPages {
			t.Errorf("after %d pages: %v", n, err)
		}
	})
}

// TestFreshSurface holds that what is fresh is not asked for again, until the
// server says that it changed.
func TestFreshSurface(t *testing.T) {
	const fresh = `"ttlMs":60000`
	script := able(mcp.Modern, everything).
		with("resources/list", answer(`{"resources":[],`+fresh+`}`)).
		with("resources/templates/list", answer(`{"resourceTemplates":[],`+fresh+`}`)).
		with("resources/read", answer(`{"contents":[],`+fresh+`}`)).
		with("prompts/list", answer(`{"prompts":[],`+fresh+`}`))
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(script)
		s := d.open()
		asked := func() string {
			before := d.process(0).received()
			s.ListResources(t.Context())
			s.ListResourceTemplates(t.Context())
			s.ReadResource(t.Context(), "a")
			s.ListPrompts(t.Context())
			return strings.TrimSpace(strings.TrimPrefix(d.process(0).received(), before))
		}
		const all = "resources/list resources/templates/list resources/read prompts/list"
		step := func(want string) {
			t.Helper()
			if got := asked(); got != want {
				t.Errorf("asked %q, want %q", got, want)
			}
		}
		step(all)
		step("")
		note(d.process(0), "notifications/prompts/list_changed", `{}`)
		synctest.Wait()
		step("prompts/list")
		note(d.process(0), "notifications/resources/updated", `{"uri":"a/b"}`)
		synctest.Wait()
		step("resources/read")
		note(d.process(0), "notifications/resources/list_changed", `{}`)
		synctest.Wait()
		step("resources/list resources/templates/list resources/read")
		time.Sleep(time.Minute)
		step(all)
	})
}

// TestChangeOfAKnownList holds that the owner of a session hears of a change of each list that
// is known, and of what is to be written once only: when a fresh list is fresh no more.
func TestChangeOfAKnownList(t *testing.T) {
	script := able(mcp.Modern, everything).with("prompts/list", answer(`{"prompts":[],"ttlMs":60000}`))
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(script)
		var listed, changed atomic.Int32
		s := d.open(func(c *setup) {
			c.Listed, c.Changed = func() { listed.Add(1) }, func() { changed.Add(1) }
		})
		tell := func() {
			note(d.process(0), "notifications/prompts/list_changed", `{}`)
			note(d.process(0), "notifications/tools/list_changed", `{}`) // which is not known
			synctest.Wait()
		}
		tell()
		if listed.Load() != 0 || changed.Load() != 0 {
			t.Errorf("nothing is known: listed %d times, changed %d times", listed.Load(), changed.Load())
		}
		s.ListPrompts(t.Context())
		conn := s.cfg.Connections.Current()
		if s.Outdated(conn) {
			t.Error("outdated before it changed")
		}
		tell()
		tell()
		if listed.Load() != 2 || changed.Load() != 2 {
			t.Errorf("listed %d times, changed %d times", listed.Load(), changed.Load())
		}
		if !s.WrittenLists()[mcp.MethodListPrompts].Until.IsZero() || !s.Outdated(conn) {
			t.Error("it is written as fresh")
		}
		s.Renew(t.Context(), conn)
		if s.Outdated(conn) || s.Known().Prompts.Stale {
			t.Error("outdated after it was renewed")
		}
	})
}

// TestReadsAreBounded holds that a reader of much forgets, and does not grow.
func TestReadsAreBounded(t *testing.T) {
	var r reads
	until := time.Now().Add(time.Hour)
	for i := range 100 {
		r.store(fmt.Sprint(i), make([]byte, 1<<20), until, 0)
		if r.bytes > maxReads || len(r.results) > maxReads>>20 {
			t.Fatalf("%d bytes in %d results", r.bytes, len(r.results))
		}
	}
	r.store("large", make([]byte, maxReads+1), until, 0)
	if _, _, ok := r.fresh("large"); ok {
		t.Error("one over the bound was kept")
	}
	r.change()
	r.store("late", nil, until, 0)
	if _, _, ok := r.fresh("late"); ok {
		t.Error("one that changed on its way was kept")
	}
}

// TestReadAfterRounds holds that a result which depends on the person's answers
// is not reused for another request.
func TestReadAfterRounds(t *testing.T) {
	n := 0
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := launcher(able(mcp.Modern, everything).with("resources/read", func(p *process, m message) {
			if n++; n == 1 {
				answer(`{"resultType":"input_required","requestState":"s"}`)(p, m)
				return
			}
			answer(`{"contents":[],"ttlMs":60000}`)(p, m)
		})).open()
		for range 2 {
			if _, err := s.ReadResource(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		}
	})
	if n != 3 {
		t.Errorf("asked %d times", n)
	}
}

func TestPing(t *testing.T) {
	for era, method := range map[mcp.Era]string{mcp.Legacy: "ping", mcp.Modern: "server/discover"} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(able(era, everything).with("ping", answer(`{}`)))
			s := d.open()
			before := len(d.process(0).find(method))
			if err := s.Ping(t.Context()); err != nil || len(d.process(0).find(method)) != before+1 {
				t.Errorf("%s: %v, saw %s", era, err, d.process(0).received())
			}
		})
	}
	for code, alive := range map[int]bool{mcp.CodeMethodNotFound: true, mcp.CodeInternalError: false} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			s := launcher(able(mcp.Legacy, everything).with("ping", refuse(code, "no", ""))).open()
			if err := s.Ping(t.Context()); (err == nil) != alive {
				t.Errorf("a ping that is answered with %d: %v", code, err)
			}
		})
	}
}

func TestSetLevel(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		warnings, script := 0, able(mcp.Legacy, everything).with("logging/setLevel", answer(`{}`))
		d := launcher(script, script, script.with("logging/setLevel", refuse(mcp.CodeInternalError, "no", "")))
		s := d.open(func(c *setup) { c.Warn = func(string) { warnings++ } })
		if err := s.SetLevel(t.Context(), "loud"); err == nil || !strings.Contains(err.Error(), "emergency") {
			t.Error(err)
		}
		if err := s.SetLevel(t.Context(), mcp.LevelWarning); err != nil {
			t.Error(err)
		}
		for n := range 2 {
			d.process(n).exit(errors.New("gone"))
			if _, err := call(t, s); err != nil || warnings != n {
				t.Errorf("process %d: %d warnings, %v", n+1, warnings, err)
			}
		}
		for n := range 3 {
			if got := d.process(n).find("logging/setLevel"); len(got) != 1 || string(got[0].Params) != `{"level":"warning"}` {
				t.Errorf("process %d was told %q", n, got)
			}
		}
	})
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(able(mcp.Modern, everything))
		s := d.open()
		if err := s.SetLevel(t.Context(), mcp.LevelDebug); err != nil {
			t.Error(err)
		}
		call(t, s)
		meta := member(d.process(0).find("tools/call")[0].Params, "_meta")
		if got := member(meta, mcp.MetaLogLevel); string(got) != `"debug"` {
			t.Errorf("_meta is %s", meta)
		}
	})
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			if err := launcher(able(era, `{}`)).open().SetLevel(t.Context(), mcp.LevelDebug); !errors.Is(err, ErrUnsupported) {
				t.Errorf("%s: %v", era, err)
			}
		})
	}
}

// TestPromptedRequests holds that a request says so when an answer asks for it: the
// first page of a list and the first round of a call are the caller's, the others the
// server's, which may want any number of them.
func TestPromptedRequests(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(able(mcp.Modern, everything).
			with("prompts/list", inTurns(answer(`{"prompts":[],"nextCursor":"2"}`), answer(`{"prompts":[],"nextCursor":"3"}`), answer(`{"prompts":[]}`))).
			with("prompts/get", inTurns(wants(`"requestState":"s"`), answer(`{"messages":[]}`))))
		s := d.open()
		for _, step := range []struct {
			ask  func() error
			want int // solicited requests, those before included
		}{
			{func() error { _, err := s.ListPrompts(t.Context()); return err }, 2},
			{func() error { _, err := s.GetPrompt(t.Context(), "p", nil); return err }, 3},
			{func() error { _, err := s.GetPrompt(t.Context(), "p", nil); return err }, 3},
		} {
			if err := step.ask(); err != nil || d.process(0).prompted != step.want {
				t.Errorf("%d requests were prompted, want %d: %v", d.process(0).prompted, step.want, err)
			}
		}
	})
}
