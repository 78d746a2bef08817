package session

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

const (
	strict = `{"name":"echo","inputSchema":{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]},` +
		`"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`
	lax     = `{"name":"echo","inputSchema":{"type":"object"}}`
	flawed  = `{"name":"echo","inputSchema":{"type":"objekt"},"outputSchema":{"$ref":"https://example.com/x"}}`
	pattern = `{"name":"echo","inputSchema":{"properties":{"message":{"pattern":"(?<=a)b"}},"required":["message"]}}`
)

// listing is a server with one tool.
func listing(s server, tool, result string) server {
	return s.with("tools/list", answer(`{"tools":[`+tool+`]}`)).with("tools/call", answer(result))
}

func structured(content string) string { return `{"content":[],"structuredContent":` + content + `}` }

// TestSchemaCheck calls a tool by CallTool and by Call, with the list known.
func TestSchemaCheck(t *testing.T) {
	tests := []struct {
		name, tool, args, result string
		want                     string // part of the error; "" is none
		sent                     bool
	}{
		{"both fit", strict, `{"message":"x"}`, structured(`{"n":1}`), "", true},
		{"missing", strict, `{}`, structured(`{"n":1}`), "not sent: arguments: /message: is missing", false},
		{"another type", strict, `{"message":5}`, structured(`{"n":1}`), "not sent: arguments: /message: want a string, got a number", false},
		{"result does not fit", strict, `{"message":"x"}`, structured(`{"n":"1"}`), "structured content: /n: want an integer, got a string of 1 character", true},
		{"no result", strict, `{"message":"x"}`, `{"content":[]}`, "structured content: want some, as the tool's outputSchema says, got none", true},
		{"null for none", strict, `{"message":"x"}`, structured(`null`), "got none", true},
		{"a result that failed", strict, `{"message":"x"}`, `{"content":[],"isError":true}`, "", true},
		{"nothing wanted", lax, `{"message":5}`, structured(`5`), "", true},
		{"no schema", `{"name":"echo"}`, `{"message":5}`, structured(`5`), "", true},
		{"schemas that are none", flawed, `{"message":5}`, structured(`5`), "", true},
		{"an unknown pattern", pattern, `{"message":"x"}`, structured(`5`), "", true},
		{"an unknown pattern, and more", pattern, `{}`, structured(`5`), "is missing", false},
		{"an unknown tool", strings.Replace(strict, "echo", "other", 1), `{}`, structured(`5`), "", true},
	}
	for _, test := range tests {
		for _, how := range []string{"CallTool", "Call"} {
			bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
				d := launcher(listing(oldServer(), test.tool, test.result))
				s := d.open()
				s.ListTools(t.Context())
				err := callBy(t, s, how, json.RawMessage(test.args))
				checkSchema(t, test.name+", "+how, err, test.want, test.sent)
				if sent := len(d.process(0).find("tools/call")) == 1; sent != test.sent {
					t.Errorf("%s, %s: sent: %v", test.name, how, sent)
				}
			})
		}
	}
}

func callBy(t *testing.T, s *Session, how string, args json.RawMessage) error {
	if how == "CallTool" {
		result, err := s.CallTool(t.Context(), "echo", args)
		if (err == nil) != (result != nil) {
			t.Errorf("result %v with error %v", result, err)
		}
		return err
	}
	var result json.RawMessage
	err := s.Call(t.Context(), mcp.MethodCallTool, map[string]any{"name": "echo", "arguments": args}, &result)
	if errors.Is(err, rpc.ErrNotSent) != (result == nil) {
		t.Errorf("result %s with error %v", result, err)
	}
	return err
}

func checkSchema(t *testing.T, name string, err error, want string, sent bool) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %s", name, err, want)
		return
	}
	var input *ArgumentError
	var output *ResultError
	var call *rpc.CallError
	switch {
	case !sent && (!errors.As(err, &input) || !errors.Is(err, rpc.ErrNotSent) || !errors.Is(err, rpc.ErrParams) || input.Tool != "echo"):
		t.Errorf("%s: %#v", name, err)
	case sent && (!errors.As(err, &output) || !errors.Is(err, ErrInvalidResult) || output.Result == nil || output.Tool != "echo"):
		t.Errorf("%s: %#v", name, err)
	case sent && (!errors.As(err, &call) || call.Sent != rpc.Answered):
		t.Errorf("%s: not answered: %#v", name, err)
	}
}

// TestSchemasOfTwoServers has a process end between the pages of its list: nothing of
// the first page binds the process that gave the second.
func TestSchemasOfTwoServers(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		first := oldServer().with("tools/list", func(p *process, m message) {
			if member(m.Params, "cursor") == nil {
				answer(`{"tools":[`+strict+`],"nextCursor":"x"}`)(p, m)
				return
			}
			var n uint32
			json.Unmarshal(m.ID, &n)
			p.peer.Failed(n, errors.Join(rpc.ErrNotSent, rpc.ErrClosed))
			p.exit(errors.New("crash"))
		})
		d := launcher(first, listing(oldServer(), `{"name":"other"}`, structured(`{"n":1}`)))
		s := d.open()
		if tools, err := s.ListTools(t.Context()); err != nil || len(tools) != 2 || d.started() != 2 {
			t.Fatalf("%d tools of %d processes, %v", len(tools), d.started(), err)
		}
		if _, err := s.CallTool(t.Context(), "echo", map[string]any{}); err != nil {
			t.Error(err)
		}
	})
}

// TestSchemasOfManyPages has a list whose pages come over one connection: each of them
// counts.
func TestSchemasOfManyPages(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := launcher(oldServer().with("tools/list", inOrder(
			answer(`{"tools":[`+strict+`],"nextCursor":"x"}`), answer(`{"tools":[{"name":"a"}],"nextCursor":"y"}`), answer(`{"tools":[{"name":"b"}]}`),
		))).open()
		if tools, err := s.ListTools(t.Context()); err != nil || len(tools) != 3 {
			t.Fatalf("%d tools, %v", len(tools), err)
		}
		if _, err := s.CallTool(t.Context(), "echo", map[string]any{}); !errors.As(err, new(*ArgumentError)) {
			t.Error(err)
		}
	})
}

// TestSchemasAreKnown has calls that are checked only while it is known that the
// list holds.
func TestSchemasAreKnown(t *testing.T) {
	bad := map[string]any{}
	refused := func(t *testing.T, s *Session) bool {
		_, err := s.CallTool(t.Context(), "echo", bad)
		return errors.As(err, new(*ArgumentError))
	}
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(listing(oldServer(), strict, structured(`{"n":1}`)), listing(oldServer(), strict, structured(`{"n":1}`)))
		s := d.open()
		if refused(t, s) || len(d.process(0).find("tools/list")) != 0 {
			t.Error("a call without a list asks for one, or is refused by none")
		}
		s.ListTools(t.Context())
		if !refused(t, s) {
			t.Error("a call after a list is not checked")
		}
		s.toolCache.change()
		if refused(t, s) {
			t.Error("a call after a change is checked by what was")
		}
		s.ListTools(t.Context())
		if !refused(t, s) {
			t.Error("a call after another list is not checked")
		}
		d.process(0).exit(errors.New("crash"))
		if refused(t, s) {
			t.Error("a call of another process is checked by what the first one said")
		}
		s.ListTools(t.Context())
		if !refused(t, s) {
			t.Error("a call after the list of another process is not checked")
		}
	})
}

// TestNoValidate sends what does not fit, and takes it.
func TestNoValidate(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := launcher(listing(oldServer(), strict, structured(`5`))).open(func(c *setup) { c.NoValidate = true })
		s.ListTools(t.Context())
		if _, err := s.CallTool(t.Context(), "echo", nil); err != nil {
			t.Error(err)
		}
	})
}

// TestSchemasOfAnOldRevision has a server whose revision has no structured results.
func TestSchemasOfAnOldRevision(t *testing.T) {
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		old := listing(oldServer(), strict, `{"content":[]}`).with("initialize", answer(initializeResult(mcp.Version20250326)))
		s := launcher(old).open()
		s.ListTools(t.Context())
		if _, err := s.CallTool(t.Context(), "echo", map[string]any{"message": "x"}); err != nil {
			t.Error(err)
		}
	})
}

// TestSchemaWarnsOnce has schemas that cannot be used, in lists that say the
// same.
func TestSchemaWarnsOnce(t *testing.T) {
	for tool, want := range map[string]int{strict: 0, lax: 0, flawed: 2, pattern: 1} {
		bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
			var s *Session
			var warnings []string
			s = launcher(listing(oldServer(), tool, structured(`{"n":1}`))).open(func(c *setup) {
				c.Warn = func(text string) {
					warnings = append(warnings, text)
					s.CallTool(t.Context(), "echo", map[string]any{"message": "x"}) // from the callback
				}
			})
			for range 3 {
				if tools, err := s.ListTools(t.Context()); err != nil || len(tools) != 1 {
					t.Errorf("%v, %v", tools, err)
				}
				if _, err := s.CallTool(t.Context(), "echo", map[string]any{"message": "x"}); err != nil {
					t.Error(err)
				}
			}
			if len(warnings) != want {
				t.Errorf("%d warnings, want %d: %q", len(warnings), want, warnings)
			}
			if without := `arguments of tool "echo" are checked without the pattern "(?<=a)b" at "/properties/message", `; tool == pattern && !strings.HasPrefix(warnings[0], without) {
				t.Errorf("warned %q", warnings)
			}
		})
	}
}

// TestSchemasOfAFreshList has a call over HTTP that asks for the list itself,
// for the sake of headers, and is then checked.
func TestSchemasOfAFreshList(t *testing.T) {
	on := newHTTPScript()
	on["tools/list"] = ok(`{"tools":[` + strict + `]}`)
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		_, err := s.open().CallTool(t.Context(), "echo", nil)
		if !errors.As(err, new(*ArgumentError)) || len(s.find("tools/call")) != 0 {
			t.Errorf("%v; sent: %v", err, s.find("tools/call"))
		}
	})
}

// TestToolSchemasAreSmall: most tools are listed and never called, and a hundred
// servers have thousands of them.
func TestToolSchemasAreSmall(t *testing.T) {
	if size := unsafe.Sizeof(toolSchemas{}); size > 48 {
		t.Errorf("a toolSchemas has %d bytes beside its texts", size)
	}
	tool := mcp.Tool{InputSchema: []byte(`{"type":"object","description":"what it is for"}`)}
	c := &toolSchemas{input: newToolSchema(tool.InputSchema), output: newToolSchema(tool.OutputSchema)}
	if c.input.text != `{"type":"object"}` || c.output.text != "" {
		t.Errorf("it keeps %q and %q", c.input.text, c.output.text)
	}
}

// TestTrivialSchemaIsFree counts what a check adds to a call.
func TestTrivialSchemaIsFree(t *testing.T) {
	s := &Session{cfg: Config{Warn: func(string) {}}}
	l := &agreedConn{Conn: &Conn{}}
	kept := newToolList(true)
	page := `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{}}}]}`
	if _, err := kept.add([]byte(page), dialect{era: mcp.Legacy}); err != nil {
		t.Fatal(err)
	}
	kept.over = l.Conn
	s.toolCache.store(kept, 0)
	free := s.toolCache.defLocked("echo").schemas
	args := map[string]any{"message": "hello"}
	allocs := testing.AllocsPerRun(100, func() {
		q := request{method: mcp.MethodCallTool, name: "echo", given: args, tool: true}
		if err := s.checkArguments(&q, l); err != nil || q.toolSchemas != free {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
