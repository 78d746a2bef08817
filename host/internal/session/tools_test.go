package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// pages answers tools/list with the page that the cursor names; "-" is the
// first.
func pages(byCursor map[string]string) act {
	return func(p *process, m message) {
		cursor := "-"
		if raw := member(m.Params, "cursor"); raw != nil {
			cursor, _ = strconv.Unquote(string(raw))
		}
		if page, ok := byCursor[cursor]; ok {
			answer(page)(p, m)
			return
		}
		refuse(mcp.CodeInvalidParams, "unknown cursor "+cursor, "")(p, m)
	}
}

func TestListTools(t *testing.T) {
	const a, b, c = `{"name":"a","inputSchema":{}}`, `{"name":"b","inputSchema":{}}`, `{"name":"c","inputSchema":{}}`
	tests := []struct {
		name     string
		pages    map[string]string
		want     string // names, or an error
		warnings int
	}{
		{"one page", map[string]string{"-": `{"tools":[` + a + `,` + b + `]}`}, "a b", 0},
		{"no tools", map[string]string{"-": `{"tools":[]}`}, "", 0},
		{"null for none", map[string]string{"-": `{"tools":null,"nextCursor":null}`}, "", 0},
		{"three pages, one of them empty", map[string]string{
			"-":          `{"tools":[` + a + `],"nextCursor":"x"}`,
			"x":          `{"tools":[],"nextCursor":"\u00e4 \"quoted\""}`,
			`ä "quoted"`: `{"tools":[` + b + `]}`,
		}, "a b", 0},
		{"an empty cursor is one", map[string]string{
			"-": `{"tools":[` + a + `],"nextCursor":""}`,
			"":  `{"tools":[` + b + `]}`,
		}, "a b", 0},
		{"an empty cursor for ever", map[string]string{
			"-": `{"tools":[` + a + `],"nextCursor":""}`,
			"":  `{"tools":[` + a + `],"nextCursor":""}`,
		}, "a", 0},
		{"a circle", map[string]string{
			"-": `{"tools":[` + a + `],"nextCursor":"x"}`,
			"x": `{"tools":[` + b + `],"nextCursor":"y"}`,
			"y": `{"tools":[` + c + `],"nextCursor":"x"}`,
		}, "a b c", 1},
		{"a tool twice", map[string]string{"-": `{"tools":[` + a + `,` + b + `,` + a + `]}`}, "a b", 1},
		{"no tools among tools", map[string]string{"-": `{"tools":[5,` + a + `,{"name":7},{},` + b + `]}`}, "a b", 3},
		{"expired cursor", map[string]string{"-": `{"tools":[` + a + `],"nextCursor":"x"}`},
			"error: list tools on files: MCP error -32602: unknown cursor x", 0},
		{"cursor is no string", map[string]string{"-": `{"tools":[],"nextCursor":5}`},
			`error: list tools on files: invalid result: member "nextCursor": want a string`, 0},
		{"tools are no array", map[string]string{"-": `{"tools":"nope"}`}, `error: list tools on files: invalid result: member "tools": want an array`, 0},
		{"no object", map[string]string{"-": `[]`}, "error: list tools on files: invalid result: want an object", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
				warnings := 0
				s := launcher(oldServer().with("tools/list", pages(test.pages))).open(func(c *setup) {
					c.Warn = func(string) { warnings++ }
				})
				tools, err := s.ListTools(t.Context())
				var got []string
				for _, tool := range tools {
					got = append(got, tool.Name)
				}
				if err != nil {
					got = []string{"error: " + err.Error()}
				}
				if names := strings.Join(got, " "); !strings.HasPrefix(names, test.want) || err == nil && names != test.want {
					t.Errorf("got %s, want %s", names, test.want)
				}
				if warnings != test.warnings {
					t.Errorf("%d warnings, want %d", warnings, test.warnings)
				}
			})
		})
	}
}

// TestEndlessList has a server that always knows another page.
func TestEndlessList(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		n := 0
		s := launcher(oldServer().with("tools/list", func(p *process, m message) {
			n++
			answer(fmt.Sprintf(`{"tools":[{"name":"t%d"}],"nextCursor":"%d"}`, n, n))(p, m)
		})).open()
		_, err := s.ListTools(t.Context())
		if !errors.Is(err, ErrInvalidResult) || n != mcp.MaxPages {
			t.Errorf("after %d pages: %v", n, err)
		}
	})
	large, page := newToolList(false), []byte(`{"tools":[]}`)
	large.bytes = mcp.MaxListBytes - len(page)
	if _, err := large.add(page, dialect{era: mcp.Legacy}); err != nil {
		t.Errorf("a large page: %v", err)
	}
	if _, err := large.add(page, dialect{era: mcp.Legacy}); !errors.Is(err, ErrInvalidResult) {
		t.Errorf("one more: %v", err)
	}
}

func TestToolFields(t *testing.T) {
	const text = `{"name":"a","title":"A","description":"d\n","inputSchema":{"x":1.0},"outputSchema":{"$ref":"#"},` +
		`"annotations":{"title":"T","readOnlyHint":false,"destructiveHint":true,"idempotentHint":null,"openWorldHint":false},` +
		`"_meta":{"k":[]},"icons":[],"execution":null}`
	var want mcp.Tool
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	got, _, err := readTool([]byte(text), nil)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestArguments(t *testing.T) {
	type query struct {
		Path string `json:"path"`
		Deep bool   `json:"deep,omitempty"`
	}
	tests := []struct {
		args any
		want string // the arguments sent, or an error
	}{
		{nil, `{}`},
		{map[string]any(nil), `{}`},
		{(*query)(nil), `{}`},
		{json.RawMessage(nil), `{}`},
		{map[string]any{"b": 1, "a": "x\n"}, `{"a":"x\n","b":1}`},
		{map[string]string{"a": "x"}, `{"a":"x"}`},
		{query{Path: "/"}, `{"path":"/"}`},
		{&query{Path: "/", Deep: true}, `{"path":"/","deep":true}`},
		{json.RawMessage("{ \"a\" : [ 1,\r\n 2 ] }"), `{ "a" : [ 1, 2 ] }`},
		{[]int{1}, `error: arguments: want an object, got an array`},
		{"x", `error: arguments: want an object, got a string`},
		{5, `error: arguments: want an object, got a number`},
		{true, `error: arguments: want an object, got true`},
		{json.RawMessage(`{"a":`), `error: arguments: raw JSON: text ends too early`},
		{map[string]any{"a": "\xff"}, `error: arguments: a: invalid UTF-8`},
		{map[string]any{"a": func() {}}, `error: arguments: a: json: unsupported type`},
	}
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer())
		s := d.open()
		for _, test := range tests {
			before := len(d.process(0).find("tools/call"))
			_, err := s.CallTool(t.Context(), "echo", test.args)
			if reason, bad := strings.CutPrefix(test.want, "error: "); bad {
				if err == nil || !strings.Contains(err.Error(), reason) || !errors.Is(err, rpc.ErrNotSent) ||
					!strings.HasPrefix(err.Error(), "call echo on files: ") {
					t.Errorf("%#v: error %v, want %s", test.args, err, reason)
				}
				continue
			}
			sent := d.process(0).find("tools/call")
			if err != nil || len(sent) != before+1 {
				t.Errorf("%#v: %v", test.args, err)
				continue
			}
			if got := string(sent[before].Params); got != `{"name":"echo","arguments":`+test.want+`}` {
				t.Errorf("%#v: sent %s, want %s", test.args, got, test.want)
			}
		}
	})
}

func TestModernRequests(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}},` +
		`"io.modelcontextprotocol/clientInfo":{"name":"wharf","version":"1"},` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(newServer().with("tools/list", answer(`{"tools":[]}`)).with("x", answer(`{}`)))
		s := d.open(func(c *setup) { c.Roots = nil })
		s.ListTools(t.Context())
		s.CallTool(t.Context(), "echo", map[string]any{"a": 1})
		s.Call(t.Context(), "x", nil, nil)
		s.Call(t.Context(), "x", map[string]any{}, nil)
		s.Call(t.Context(), "x", map[string]any{"a": 1}, nil)
		s.Call(t.Context(), "x", map[string]any{"_meta": nil}, nil)
		s.Call(t.Context(), "x", json.RawMessage(`{"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"9"}}`), nil)
		s.Notify(t.Context(), "y", map[string]any{"a": 1})
		synctest.Wait()
		want := []string{
			`{` + meta + `}`, `{` + meta + `}`,
			`{"name":"echo","arguments":{"a":1},` + meta + `}`,
			`{` + meta + `}`, `{` + meta + `}`, `{"a":1,` + meta + `}`, `{` + meta + `}`,
			`{` + strings.Replace(meta, `{`, `{"progressToken":1,`, 1) + `}`,
			`{"a":1}`,
		}
		for i, m := range d.process(0).raw {
			if string(m.Params) != want[i] {
				t.Errorf("%s: params %s, want %s", m.Method, m.Params, want[i])
			}
		}
		if err := s.Call(t.Context(), "x", json.RawMessage(`{"_meta":5}`), nil); !errors.Is(err, rpc.ErrParams) {
			t.Error(err)
		}
	})
}

// TestModernServerAsks holds that a modern server's requests get no answer.
func TestModernServerAsks(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(newServer())
		s := d.open()
		d.process(0).print(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		d.process(0).print(`{"jsonrpc":"2.0","id":2,"method":"roots/list"}`)
		if _, err := call(t, s); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		if got := d.process(0).received(); got != probed+" tools/call" {
			t.Errorf("server saw %s", got)
		}
	})
}

func TestResultType(t *testing.T) {
	result := func(kind string) string { return `{` + kind + `"content":[],"tools":[]}` }
	tests := []struct {
		kind   string
		modern error // what a modern session makes of it
	}{
		{``, nil},
		{`"resultType":"complete",`, nil},
		{`"resultType":"input_required",`, ErrInvalidResult},
		{`"resultType":"task",`, ErrInvalidResult},
		{`"resultType":5,`, ErrInvalidResult},
	}
	for _, test := range tests {
		for era, script := range map[mcp.Era]server{mcp.Legacy: oldServer(), mcp.Modern: newServer()} {
			bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
				for _, method := range []string{"tools/call", "tools/list", "x"} {
					script = script.with(method, answer(result(test.kind)))
				}
				s := launcher(script).open()
				_, called := s.CallTool(t.Context(), "echo", nil)
				_, listed := s.ListTools(t.Context())
				want := test.modern
				if era == mcp.Legacy {
					want = nil
				}
				for _, err := range []error{called, listed, s.Call(t.Context(), "x", nil, nil)} {
					if !errors.Is(err, want) || want == nil && err != nil {
						t.Errorf("%s, %s: %v, want %v", era, test.kind, err, want)
					}
				}
			})
		}
	}
}

// TestVersionRefusedLater has a modern server refuse the version of a call:
// it is sent once more, and not twice.
func TestVersionRefusedLater(t *testing.T) {
	for supported, want := range map[string]int{`"2026-07-28"`: 2, `"2027-01-01"`: 1} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			no := refuse(mcp.CodeUnsupportedVersion, "no", `{"supported":[`+supported+`]}`)
			d := launcher(newServer().with("tools/call", no))
			_, err := call(t, d.open())
			var fault *rpc.Error
			if !errors.As(err, &fault) || fault.Code != mcp.CodeUnsupportedVersion {
				t.Error(err)
			}
			if got := len(d.process(0).find("tools/call")); got != want {
				t.Errorf("supports %s: sent %d times, want %d", supported, got, want)
			}
		})
	}
}

func TestCall(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer().with("resources/read", answer(`{"contents":[1,2]}`)))
		s := d.open()
		var raw json.RawMessage
		if err := s.Call(t.Context(), "resources/read", map[string]any{"uri": "file:///a"}, &raw); err != nil || string(raw) != `{"contents":[1,2]}` {
			t.Errorf("%s, %v", raw, err)
		}
		var typed struct{ Contents []int }
		if err := s.Call(t.Context(), "resources/read", nil, &typed); err != nil || len(typed.Contents) != 2 {
			t.Errorf("%+v, %v", typed, err)
		}
		if sent := d.process(0).find("resources/read"); sent[1].Params != nil {
			t.Errorf("params %s, want none", sent[1].Params)
		}
		var wrong struct{ Contents string }
		if err := s.Call(t.Context(), "resources/read", nil, &wrong); !errors.Is(err, ErrInvalidResult) {
			t.Error(err)
		}
		var fault *rpc.Error
		err := s.Call(t.Context(), "no/such", nil, nil)
		if !errors.As(err, &fault) || fault.Code != mcp.CodeMethodNotFound || !strings.HasPrefix(err.Error(), "no/such on files: ") {
			t.Error(err)
		}
	})
}

func TestSubject(t *testing.T) {
	tests := []struct{ method, params, want string }{
		{mcp.MethodCallTool, `{"name":"echo","uri":"u"}`, "echo"},
		{mcp.MethodReadResource, `{"name":"echo","uri":"u"}`, "u"},
		{mcp.MethodGetPrompt, `{"name":5}`, ""},
		{mcp.MethodGetPrompt, `[]`, ""},
		{"x", `{"name":"echo"}`, ""},
	}
	for _, test := range tests {
		if got := subject(test.method, json.RawMessage(test.params)); got != test.want {
			t.Errorf("%s %s: %q, want %q", test.method, test.params, got, test.want)
		}
	}
}

func TestRequestTimeout(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(oldServer().with("tools/call", silent))
		s := d.open(func(c *setup) { c.Timeout = 7 * time.Second })
		start := time.Now()
		if _, err := call(t, s); !errors.Is(err, rpc.ErrTimeout) {
			t.Error(err)
		}
		if waited := time.Since(start); waited != 7*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

// TestListIsReadAgain: of a list its text alone is kept, and what is read from it later is what
// was read when it came.
func TestListIsReadAgain(t *testing.T) {
	const flawed = `{"name":"c","inputSchema":{"properties":{"x":{"type":"object","x-mcp-header":"X"}}}}`
	l := newToolList(true)
	for _, page := range []string{
		`{"tools": [ {"name":"a","title":"A\n"} , 5, {"name":"a"}],"resultType":"complete","nextCursor":"2"}`,
		`{"tools":[{},` + flawed + `, {"name" : "b","inputSchema":{"type":"object"}},{"name":"d","annotations":{"title":"D"}}],"resultType":"complete"}`,
	} {
		if _, err := l.add([]byte(page), dialect{era: mcp.Modern, paramHeaders: true}); err != nil {
			t.Fatal(err)
		}
	}
	var c toolCache
	c.store(l, 0)
	for n := range 4 {
		if n == 2 {
			c.text.pack()
		}
		runtime.GC() // which takes what was read before
		got := c.known(nil).Items
		if len(got) != 3 || !reflect.DeepEqual(got, l.items) {
			t.Errorf("%+v, want %+v", got, l.items)
		}
		clear(got) // it is the caller's
		if again := c.known(nil).Items; !reflect.DeepEqual(again, l.items) {
			t.Errorf("then %+v", again)
		}
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		def := c.defLocked(name)
		if !def.overHTTP || def.schemas == nil || (def.flaw != nil) != (name == "c") {
			t.Errorf("%s: %+v", name, def)
		}
	}
	if def := c.defLocked("e"); def.overHTTP || len(c.defs) != 4 {
		t.Errorf("of a tool that is not in the list: %+v, %d kept", def, len(c.defs))
	}
	all := make(map[string]WrittenList)
	c.written("tools/list", all)
	want := `[{"name":"a","title":"A\n"},5,{"name":"a"},{},` + flawed + `,{"name" : "b","inputSchema":{"type":"object"}},{"name":"d","annotations":{"title":"D"}}]`
	if got := string(all["tools/list"].Items); got != want {
		t.Errorf("written: %s, want %s", got, want)
	}
}
