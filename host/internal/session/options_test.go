package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// metaOf returns the members of _meta in the newest message of a method.
func metaOf(p *process, method string) (members map[string]json.RawMessage) {
	all := p.find(method)
	json.Unmarshal(member(all[len(all)-1].Params, "_meta"), &members)
	return members
}

// TestMetaOfTheCaller holds that the caller's members of _meta go out in each way of
// calling, beside those of the protocol and in place of none.
func TestMetaOfTheCaller(t *testing.T) {
	options := RequestOptions{Meta: json.RawMessage("{\"traceparent\": \"00-1\",\n \"x/y\":{\"a\": [1]},\"progressToken\":7," +
		`"io.modelcontextprotocol/protocolVersion":"never","io.modelcontextprotocol/related-task":{"taskId":"1"}}`)}
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(able(era, everything).with("prompts/list", answer(`{"prompts":[]}`)))
			s := d.open()
			ctx := WithProgress(WithOptions(t.Context(), options), func(mcp.Progress) {})
			ways := map[string]func() error{
				"call":  func() error { _, err := s.CallTool(ctx, "echo", nil); return err },
				"raw":   func() error { return s.Call(ctx, "tools/call", map[string]any{"name": "echo"}, nil) },
				"own":   func() error { return s.Call(ctx, "tools/call", json.RawMessage(`{"name":"a","_meta":{"x/z":1}}`), nil) },
				"lists": func() error { _, err := s.ListPrompts(WithOptions(t.Context(), options)); return err },
			}
			for way, ask := range ways {
				if err := ask(); err != nil {
					t.Fatal(era, way, err)
				}
				method := map[bool]string{true: "prompts/list", false: "tools/call"}[way == "lists"]
				got := metaOf(d.process(0), method)
				if string(got["traceparent"]) != `"00-1"` || string(got["x/y"]) != `{"a": [1]}` || got["io.modelcontextprotocol/related-task"] == nil {
					t.Errorf("%s, %s: %s", era, way, got)
				}
				if way == "own" && string(got["x/z"]) != "1" {
					t.Errorf("%s: the params' own member is gone: %s", era, got)
				}
				if token := string(got["progressToken"]); token == "7" {
					t.Errorf("%s, %s: the token is the caller's", era, way)
				}
				if version := string(got[mcp.MetaProtocolVersion]); era == mcp.Modern && version != `"2026-07-28"` {
					t.Errorf("%s: revision %s", way, version)
				}
			}
			for _, bad := range []string{`[]`, `{`, `7`} {
				_, err := s.CallTool(WithOptions(t.Context(), RequestOptions{Meta: json.RawMessage(bad)}), "echo", nil)
				if !errors.Is(err, rpc.ErrNotSent) || !strings.Contains(err.Error(), "_meta of the caller: want an object") {
					t.Errorf("%s: %v", bad, err)
				}
			}
		})
	}
}

func TestTimeoutOfACall(t *testing.T) {
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			s := launcher(able(era, everything).with("tools/call", after(time.Hour, answer(echoResult)))).open(func(c *setup) { c.Timeout = 20 * time.Second })
			for limit, want := range map[time.Duration]time.Duration{0: 20 * time.Second, time.Second: time.Second, time.Minute: time.Minute, -1: time.Hour} {
				began := time.Now()
				_, err := s.CallTool(WithOptions(t.Context(), RequestOptions{Timeout: limit}), "echo", nil)
				if took := time.Since(began); took != want || errors.Is(err, rpc.ErrTimeout) != (limit >= 0) {
					t.Errorf("%s: %v took %v: %v", era, limit, took, err)
				}
			}
		})
	}
}

// TestLevelOfACall holds that a call has its own level in place of the session's.
func TestLevelOfACall(t *testing.T) {
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(able(era, everything).with("logging/setLevel", answer(`{}`)))
			s := d.open()
			if err := s.SetLevel(t.Context(), mcp.LevelError); err != nil {
				t.Fatal(err)
			}
			for level, want := range map[mcp.Level]string{"": `"error"`, mcp.LevelDebug: `"debug"`} {
				if _, err := s.CallTool(WithOptions(t.Context(), RequestOptions{Level: level}), "echo", nil); err != nil {
					t.Fatal(err)
				}
				if era == mcp.Legacy {
					want = ""
				}
				if got := string(metaOf(d.process(0), "tools/call")[mcp.MetaLogLevel]); got != want {
					t.Errorf("%s: level %s, want %s", era, got, want)
				}
			}
		})
	}
}

// TestOrigin holds that a notification is told of with what it belongs to, also after the
// answer of the call.
func TestOrigin(t *testing.T) {
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(able(era, everything).with("tools/call", working(time.Second, `"progress":1`)))
			var s *Session
			var heard []string
			s = d.open(func(c *setup) {
				c.Notify = func(method string, params json.RawMessage, _ uint64) {
					label, subscription := s.Origin(method, params)
					heard = append(heard, label+"/"+subscription)
				}
			})
			for _, label := range []string{"first", "", "third"} {
				ctx := WithOptions(t.Context(), RequestOptions{Label: label, Progress: func(mcp.Progress) {}})
				if _, err := s.CallTool(ctx, "echo", nil); err != nil {
					t.Fatal(err)
				}
			}
			note(d.process(0), "notifications/tools/list_changed", `{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}`)
			note(d.process(0), "notifications/progress", `{"progressToken":99,"progress":1}`)
			synctest.Wait()
			if got, want := fmt.Sprint(heard), "[first/ / third/ /7 /]"; got != want {
				t.Errorf("%s: heard %s, want %s", era, got, want)
			}
		})
	}
	var all trackers
	for n := range uint64(2 * maxLabels) {
		s := Session{}
		s.trackers.last = n
		s.trackers.labels = all.labels
		_, over := s.track(WithOptions(t.Context(), RequestOptions{Label: "x"}), func(mcp.Progress) {}, nil)
		over()
		all.labels = s.trackers.labels
	}
	if len(all.labels) != maxLabels || all.labels[0].token != maxLabels+1 {
		t.Errorf("%d labels from %+v", len(all.labels), all.labels[0])
	}
}

// TestSubscriptionID holds that a subscription knows what the events on its stream name.
func TestSubscriptionID(t *testing.T) {
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			d := launcher(able(era, everything).with("subscriptions/listen", func(p *process, m message) {
				note(p, "notifications/subscriptions/acknowledged",
					fmt.Sprintf(`{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"toolsListChanged":true}}`, m.ID))
			}))
			u, err := d.open().Subscribe(t.Context(), mcp.Filter{Tools: true})
			if err != nil {
				t.Fatal(err)
			}
			defer u.Close()
			want := ""
			if era == mcp.Modern {
				want = string(d.process(0).find("subscriptions/listen")[0].ID)
			}
			if got := u.ID(); got != want {
				t.Errorf("%s: %q, want %q", era, got, want)
			}
		})
	}
}

// TestPages gets lists a page at a time, which the session does not remember.
func TestPages(t *testing.T) {
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			pages := func(member, item string) act {
				return func(p *process, m message) {
					cursor := memberText(m.Params, "cursor")
					next := map[string]string{"": `,"nextCursor":"b"`, "b": `,"nextCursor":""`, "again": `,"nextCursor":"again"`}[cursor]
					if cursor == "" && member == "tools" && strings.Contains(string(m.Params), `"cursor"`) {
						next = "" // an empty cursor is one like any other
					}
					answer(fmt.Sprintf(`{%q:[%s]%s,"ttlMs":60000}`, member, item, next))(p, m)
				}
			}
			d := launcher(able(era, `{"tools":{},"prompts":{},"resources":{},"tasks":{"list":{}}}`).
				with("tools/list", pages("tools", `{"name":"a"},{"name":"b"}`)).
				with("prompts/list", pages("prompts", `{"name":"a"}`)).
				with("resources/list", pages("resources", `{"uri":"a","name":"a"}`)).
				with("resources/templates/list", pages("resourceTemplates", `{"uriTemplate":"a","name":"a"}`)).
				with("tasks/list", pages("tasks", `{"taskId":"1","status":"working"}`)))
			s := d.open()
			var cursor *string
			for n := range 3 {
				tools, next, err := Page[mcp.Tool](t.Context(), s, cursor)
				if err != nil || len(tools) != 2 || (next == nil) != (n == 2) {
					t.Fatalf("%s: page %d: %+v, %v, %v", era, n, tools, next, err)
				}
				cursor = next
			}
			if n := len(d.process(0).find("tools/list")); n != 3 {
				t.Errorf("%d requests", n)
			}
			if d.process(0).prompted != 0 {
				t.Error("a page that the caller asks for counts as one that the server asks for")
			}
			if _, next, err := Page[mcp.Tool](t.Context(), s, new("again")); next != nil || err != nil {
				t.Errorf("a cursor that leads to itself: %v, %v", next, err)
			}
			_, a, err1 := Page[mcp.Prompt](t.Context(), s, nil)
			_, b, err2 := Page[mcp.Resource](t.Context(), s, nil)
			_, c, err3 := Page[mcp.ResourceTemplate](t.Context(), s, nil)
			_, e, err4 := Page[mcp.Task](t.Context(), s, nil)
			if err := errors.Join(err1, err2, err3, err4); err != nil || *a+*b+*c+*e != "bbbb" {
				t.Errorf("%s: %v", era, err)
			}
		})
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			s := launcher(able(era, `{"tools":{}}`)).open()
			if _, _, err := Page[mcp.Prompt](t.Context(), s, nil); !errors.Is(err, ErrUnsupported) {
				t.Errorf("%s: %v", era, err)
			}
		})
	}
}

// TestNothingIsDropped holds that what a server says of itself, of its tools and in their
// results is kept, members that the protocol does not define included.
func TestNothingIsDropped(t *testing.T) {
	const icons = `[{"src":"data:,"}]`
	about := `{"name":"n","version":"1","title":"T","description":"d","websiteUrl":"https://a.example","icons":` + icons + `}`
	result := `{"content":[{"type":"text","text":"hi"}],"x":{"y":1}}`
	const tool = `{"name":"a","icons":` + icons + `,"of later":[1]}`
	for _, era := range eras {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			handshake := `{"capabilities":{"prompts":{},"resources":{}},"protocolVersion":"2025-11-25","serverInfo":` + about + `,"x":1}`
			method := "initialize"
			if era == mcp.Modern {
				method = "server/discover"
				handshake = `{"capabilities":{"prompts":{},"resources":{}},"supportedVersions":["2026-07-28"],"_meta":{"io.modelcontextprotocol/serverInfo":` + about + `},"x":1}`
			}
			d := launcher(able(era, `{"prompts":{},"resources":{}}`).with(method, answer(handshake)).with("tools/call", answer(result)).
				with("tools/list", answer(`{"tools":[`+tool+`]}`)).
				with("prompts/list", answer(`{"prompts":[{"name":"a","icons":`+icons+`}]}`)).
				with("resources/list", answer(`{"resources":[{"uri":"a","name":"a","icons":`+icons+`}]}`)).
				with("resources/templates/list", answer(`{"resourceTemplates":[{"uriTemplate":"a","name":"a","icons":`+icons+`}]}`)))
			s := d.open(func(c *setup) { c.Config.Client.Description = "all of it" })
			info := s.Info()
			if i := info.Server; i.Description != "d" || i.WebsiteURL != "https://a.example" || string(i.Icons) != icons || string(info.Raw) != handshake {
				t.Errorf("%s: %+v", era, info)
			}
			got, err := s.CallTool(t.Context(), "a", nil)
			if text, _ := json.Marshal(got); err != nil || string(text) != result {
				t.Errorf("%s: %s, %v", era, text, err)
			}
			if era == mcp.Legacy && !strings.Contains(string(d.process(0).find("initialize")[0].Params), `"description":"all of it"`) {
				t.Error("the server was not told of the description")
			}
			tools, err1 := first(Page[mcp.Tool](t.Context(), s, nil))
			prompts, err2 := first(Page[mcp.Prompt](t.Context(), s, nil))
			resources, err3 := first(Page[mcp.Resource](t.Context(), s, nil))
			templates, err4 := first(Page[mcp.ResourceTemplate](t.Context(), s, nil))
			if err := errors.Join(err1, err2, err3, err4); err != nil {
				t.Fatal(era, err)
			}
			if text, _ := json.Marshal(tools[0]); string(text) != tool {
				t.Errorf("%s: the tool is %s", era, text)
			}
			for _, kept := range []json.RawMessage{tools[0].Icons, prompts[0].Icons, resources[0].Icons, templates[0].Icons} {
				if string(kept) != icons {
					t.Errorf("%s: icons are %s", era, kept)
				}
			}
		})
	}
}

// first drops the cursor of a page.
func first[T any](items []T, _ *string, err error) ([]T, error) { return items, err }
