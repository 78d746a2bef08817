package session

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func TestHeaderValue(t *testing.T) {
	for text, want := range map[string]string{
		"us-west1":              "us-west1",
		"us west 1":             "us west 1",
		"":                      "",
		"~!":                    "~!",
		"=?base64?":             "=?base64?",
		"?=":                    "?=",
		"Hello, 世界":             "=?base64?SGVsbG8sIOS4lueVjA==?=",
		" padded ":              "=?base64?IHBhZGRlZCA=?=",
		"line1\nline2":          "=?base64?bGluZTEKbGluZTI=?=",
		"a\tb":                  "=?base64?YQli?=",
		"\x7f":                  "=?base64?fw==?=",
		"=?base64?literal?=":    "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=",
		"a\r\nAuthorization: b": "=?base64?" + base64.StdEncoding.EncodeToString([]byte("a\r\nAuthorization: b")) + "?=",
	} {
		if got := headerValue(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// FuzzHeaderValue holds that a header shows exactly the value, and can hold it.
func FuzzHeaderValue(f *testing.F) {
	for _, text := range []string{"", "a b", " a", "ä", "=?base64?YQ==?=", "=?base64?=", "\r\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := headerValue(text)
		if got != strings.TrimSpace(got) || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Fatalf("%q: %q is no header", text, got)
		}
		back := got
		if inner, ok := strings.CutPrefix(got, base64Open); ok && strings.HasSuffix(inner, base64Close) {
			raw, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, base64Close))
			if err != nil {
				t.Fatal(err)
			}
			back = string(raw)
		}
		if back != text {
			t.Fatalf("%q came back as %q", text, back)
		}
	})
}

func TestHeaderParamValues(t *testing.T) {
	const args = `{"s":"x y","empty":"","t":true,"f":false,"null":null,"i":42,"neg":-7,"zero":-0,"dot":42.0,"exp":4.2e1,` +
		`"frac":3.5,"big":9007199254740993,"huge":1e300,"list":[1],"deep":{"er":{"x":"\u00e4"},"n":1}}`
	for path, want := range map[string]string{
		"s": "x y", "empty": "", "t": "true", "f": "false", "i": "42", "neg": "-7", "zero": "0", "dot": "42", "exp": "42",
		"frac": "3.5", "big": "9007199254740993", "huge": "1e300", "deep.er.x": "ä", "deep.n": "1",
		"null": "-", "list": "-", "deep": "-", "no": "-", "s.x": "-", "list.0": "-", "deep.er.y": "-",
	} {
		got, ok := headerParam{path: strings.Split(path, ".")}.value([]byte(args))
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for _, args := range []string{``, `null`, `[]`, `"s"`} {
		if _, ok := (headerParam{path: []string{"s"}}).value([]byte(args)); ok {
			t.Errorf("%q has a value", args)
		}
	}
}

func TestReadHeaderParams(t *testing.T) {
	props := func(p string) string { return `{"type":"object","properties":{` + p + `}}` }
	tests := []struct{ schema, want string }{
		{``, ``}, {`true`, ``}, {`[]`, ``}, {`{}`, ``}, {props(`"a":{"type":"string"},"b":true`), ``},
		{props(`"a":{"type":"string","x-mcp-header":"Region"}`), `a=mcp-param-region`},
		{props(`"a":{"x-mcp-header":"A-1","type":"integer"},"b":{"type":"boolean","x-mcp-header":"b"}`), `a=mcp-param-a-1 b=mcp-param-b`},
		{props(`"o":{"type":"object","properties":{"p":{"properties":{"q":{"type":"string","x-mcp-header":"Q"}}},"r":{"type":"string","x-mcp-header":"R"}}}`),
			`o.p.q=mcp-param-q o.r=mcp-param-r`},
		{props(`"a":{"properties":{"b":{"properties":{"c":{"properties":{` +
			`"d":{"type":"string","x-mcp-header":"D"},"e":{"type":"string","x-mcp-header":"E"}}}}}}}`),
			`a.b.c.d=mcp-param-d a.b.c.e=mcp-param-e`},
		{props(`"x-mcp-header":{"type":"string"}`), ``}, // a parameter of that name
		{props(`"a":{"type":"string","default":{"x-mcp-header":"A"},"enum":[{"x-mcp-header":"A"}],"const":{"x-mcp-header":5}}`), ``},

		{props(`"a":{"type":"string","x-mcp-header":""}`), `error: x-mcp-header is ""`},
		{props(`"a":{"type":"string","x-mcp-header":5}`), `error: x-mcp-header is 5`},
		{props(`"a":{"type":"string","x-mcp-header":"My Region"}`), `error: x-mcp-header is "My Region", want the name`},
		{props(`"a":{"type":"string","x-mcp-header":"a:b"}`), `error: x-mcp-header is "a:b"`},
		{props(`"a":{"type":"string","x-mcp-header":"Région"}`), `error: x-mcp-header is`},
		{props(`"a":{"type":"string","x-mcp-header":"a\r\nb"}`), `error: x-mcp-header is "a\r\nb"`},
		{props(`"a":{"type":"object","x-mcp-header":"A"}`), `error: x-mcp-header "A" is at a parameter that is no string`},
		{props(`"a":{"type":"array","x-mcp-header":"A"}`), `error: x-mcp-header "A" is at a parameter that is no string`},
		{props(`"a":{"type":"number","x-mcp-header":"A"}`), `error: x-mcp-header "A" is at a parameter that is no string`},
		{props(`"a":{"type":"null","x-mcp-header":"A"}`), `error: x-mcp-header "A" is at a parameter that is no string`},
		{props(`"a":{"type":["string","null"],"x-mcp-header":"A"}`), `error: x-mcp-header "A" is at a parameter that is no string`},
		{props(`"a":{"x-mcp-header":"A"}`), `error: x-mcp-header "A" is at a parameter that is no string`},
		{props(`"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"A"}`), `error: x-mcp-header "A" is there twice`},
		{props(`"a":{"type":"string","x-mcp-header":"Ab"},"b":{"properties":{"c":{"type":"string","x-mcp-header":"aB"}}}`), `error: x-mcp-header "aB" is there twice`},
		{`{"type":"string","x-mcp-header":"A"}`, `error: x-mcp-header "A" is not at a parameter`},
	}
	const leaf = `{"type":"string","x-mcp-header":"A"}`
	for _, outer := range []string{
		`{"items":%s}`, `{"items":[%s]}`, `{"allOf":[%s]}`, `{"anyOf":[true,{"properties":{"a":%s}}]}`, `{"oneOf":[%s]}`, `{"not":%s}`,
		`{"if":%s}`, `{"then":{"properties":{"a":%s}}}`, `{"else":%s}`, `{"$defs":{"a":%s}}`, `{"definitions":{"a":%s}}`,
		`{"patternProperties":{".":%s}}`, `{"additionalProperties":%s}`, `{"dependentSchemas":{"a":{"properties":{"a":%s}}}}`,
		`{"properties":{"a":{"items":%s}}}`, `{"properties":{"a":{"anyOf":[{"properties":{"b":%s}}]}}}`,
	} {
		tests = append(tests, struct{ schema, want string }{fmt.Sprintf(outer, leaf), `error: x-mcp-header "A" is not at a parameter`})
	}
	for _, test := range tests {
		found, err := readHeaderParams([]byte(test.schema))
		var got []string
		for _, m := range found {
			got = append(got, strings.Join(m.path, ".")+"="+m.header)
		}
		if err != nil {
			got = []string{"error: " + err.Error()}
		}
		if text := strings.Join(got, " "); !strings.HasPrefix(text, test.want) || err == nil && text != test.want {
			t.Errorf("%s: %s, want %s", test.schema, text, test.want)
		}
	}
}

const regional = `{"name":"echo","inputSchema":{"type":"object","properties":{` +
	`"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}}`

// headersOf spells the headers of a message.
func headersOf(p post) string {
	var all []string
	for _, h := range p.facts.Headers {
		all = append(all, h.Key+"="+h.Value)
	}
	return strings.Join(all, " ")
}

func TestHeaders(t *testing.T) {
	on := newHTTPScript()
	on["tools/list"] = ok(`{"tools":[` + regional + `]}`)
	on["resources/read"], on["prompts/get"], on["x"] = ok(`{}`), ok(`{}`), ok(`{}`)
	on["tasks/get"], on["tasks/cancel"] = ok(`{}`), ok(`{}`)
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		session.CallTool(t.Context(), "echo", map[string]any{"region": "us west", "n": 42.0, "other": "x"})
		session.CallTool(t.Context(), "echo", map[string]any{"region": nil})
		session.Call(t.Context(), "tools/call", map[string]any{"name": "echo", "arguments": map[string]any{"region": "ä"}}, nil)
		session.Call(t.Context(), "resources/read", map[string]any{"uri": "file:///a%20b?c=ä"}, nil)
		session.Call(t.Context(), "prompts/get", map[string]any{"name": "p"}, nil)
		session.Task(t.Context(), "7")
		session.Call(t.Context(), "tasks/cancel", map[string]any{"taskId": "8"}, nil)
		session.Call(t.Context(), "x", map[string]any{"name": "echo", "arguments": map[string]any{"region": "a"}}, nil)
		session.Relay(t.Context(), &Relay{Method: "tools/call", Params: json.RawMessage(`{"name":"ech\u006f","arguments":{"region":"us west","n":42.0}}`)})
		session.Relay(t.Context(), &Relay{Method: "tasks/cancel", Params: json.RawMessage(`{"taskId":"9"}`)})
		want := []string{
			"mcp-method=server/discover",
			"mcp-method=tools/list",
			"mcp-method=tools/call mcp-name=echo mcp-param-region=us west mcp-param-n=42",
			"mcp-method=tools/call mcp-name=echo",
			"mcp-method=tools/call mcp-name=echo mcp-param-region==?base64?w6Q=?=",
			"mcp-method=resources/read mcp-name=" + headerValue("file:///a%20b?c=ä"),
			"mcp-method=prompts/get mcp-name=p",
			"mcp-method=tasks/get mcp-name=7",
			"mcp-method=tasks/cancel mcp-name=8",
			"mcp-method=x",
			"mcp-method=tools/call mcp-name=echo mcp-param-region=us west mcp-param-n=42",
			"mcp-method=tasks/cancel mcp-name=9",
		}
		for i, p := range s.posts {
			if got := headersOf(p); got != want[i] {
				t.Errorf("%s: %s, want %s", p.Method, got, want[i])
			}
			if p.facts.Version != mcp.LatestModern {
				t.Errorf("%s: version %q", p.Method, p.facts.Version)
			}
		}
	})
}

// TestNoHeaders holds that headers are for modern servers behind HTTP.
func TestNoHeaders(t *testing.T) {
	on := oldHTTPScript()
	on["tools/list"] = ok(`{"tools":[{"name":"bad","inputSchema":{"x-mcp-header":""}}]}`)
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		tools, err := session.ListTools(t.Context())
		call(t, session)
		if err != nil || len(tools) != 1 {
			t.Errorf("%d tools, %v", len(tools), err)
		}
		for _, p := range s.posts {
			if p.Method != "server/discover" && headersOf(p) != "" {
				t.Errorf("%s: %s", p.Method, headersOf(p))
			}
		}
	})
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		d := launcher(newServer().with("tools/list", answer(`{"tools":[{"name":"bad","inputSchema":{"x-mcp-header":""}}]}`)))
		s := d.open()
		if _, err := call(t, s); err != nil {
			t.Error(err)
		}
		if got := d.process(0).received(); got != probed+" tools/call" {
			t.Errorf("saw %s", got)
		}
		if tools, err := s.ListTools(t.Context()); err != nil || len(tools) != 1 {
			t.Errorf("%d tools, %v", len(tools), err)
		}
	})
}

func TestInvalidToolIsLeftOut(t *testing.T) {
	on := newHTTPScript()
	on["tools/list"] = ok(`{"tools":[{"name":"bad","inputSchema":{"properties":{"a":{"type":"object","x-mcp-header":"A"}}}},` + regional + `]}`)
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		var warned []string
		session := s.open(func(c *setup) { c.Warn = func(text string) { warned = append(warned, text) } })
		_, err := session.CallTool(t.Context(), "bad", nil)
		if !errors.Is(err, rpc.ErrNotSent) || !strings.Contains(err.Error(), `the definition of the tool is invalid: x-mcp-header "A"`) {
			t.Error(err)
		}
		tools, err := session.ListTools(t.Context())
		if err != nil || len(tools) != 1 || tools[0].Name != "echo" {
			t.Errorf("%v, %v", tools, err)
		}
		if len(warned) != 2 || !strings.Contains(warned[0], `tool "bad" is left out`) {
			t.Errorf("warned %q", warned)
		}
		if n := len(s.find("tools/call")); n != 0 {
			t.Errorf("sent %d calls", n)
		}
	})
}

// TestHeaderMismatch has a server change what it wants shown.
func TestHeaderMismatch(t *testing.T) {
	on := newHTTPScript()
	on["tools/list"] = inTurn(ok(`{"tools":[{"name":"echo"}]}`), ok(`{"tools":[`+regional+`]}`))
	on["tools/call"] = func(s *fakeHTTP, p post) {
		if value, _ := p.header("mcp-param-region"); value != "a" {
			no(400, mcp.CodeHeaderMismatch)(s, p)
			return
		}
		ok(echoResult)(s, p)
	}
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		for range 2 {
			if _, err := session.CallTool(t.Context(), "echo", map[string]any{"region": "a"}); err != nil {
				t.Error(err)
			}
		}
		if got := s.received(); got != newOpening+" tools/list/1 tools/call/1 tools/list/1 tools/call/1 tools/call/1" {
			t.Errorf("saw %s", got)
		}
		_, err := session.CallTool(t.Context(), "echo", map[string]any{"region": "b"})
		if codeOf(err) != mcp.CodeHeaderMismatch || len(s.find("tools/call")) != 5 || len(s.find("tools/list")) != 3 {
			t.Errorf("%d calls, %d lists, %v", len(s.find("tools/call")), len(s.find("tools/list")), err)
		}
	})
}

func TestMissingCapability(t *testing.T) {
	on := newHTTPScript()
	on["tools/call"] = inTurn(no(400, -32021, `{"requiredCapabilities":{"elicitation":{},"sampling":{}}}`), no(400, -32021))
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		_, err := call(t, session)
		if codeOf(err) != -32021 || !strings.Contains(err.Error(), "the server needs a client that offers elicitation, sampling: MCP error -32021") {
			t.Error(err)
		}
		if _, err := call(t, session); err == nil || err.Error() != "call echo on far: MCP error -32021: no" {
			t.Error(err)
		}
	})
}

// TestCodesOfTheOtherEra holds that a legacy server means nothing by them.
func TestCodesOfTheOtherEra(t *testing.T) {
	for _, code := range []int{mcp.CodeHeaderMismatch, mcp.CodeMissingClientCapability, mcp.CodeUnsupportedVersion} {
		on := oldHTTPScript()
		on["tools/call"] = no(400, code, `{"supported":["2026-07-28"],"requiredCapabilities":{"roots":{}}}`)
		visit(t, on, func(t *testing.T, s *fakeHTTP) {
			_, err := call(t, s.open())
			if err == nil || err.Error() != fmt.Sprintf("call echo on far: MCP error %d: no", code) {
				t.Error(err)
			}
			if got := s.received(); got != oldOpening+" tools/call/1 ping/1" {
				t.Errorf("saw %s", got)
			}
		})
	}
}

// TestVersionIsKept has a server drop the revision that it began with: the call
// is sent again, and the ones after it begin with what was agreed on.
func TestVersionIsKept(t *testing.T) {
	defer func(old []string) { modernVersions = old }(modernVersions)
	modernVersions = []string{"2099-01-01", mcp.LatestModern}
	on := newHTTPScript()
	on["server/discover"] = ok(`{"supportedVersions":["2099-01-01"]}`)
	on["tools/call"] = func(s *fakeHTTP, p post) {
		if p.facts.Version != mcp.LatestModern {
			no(400, mcp.CodeUnsupportedVersion, `{"supported":["2026-07-28"]}`)(s, p)
			return
		}
		ok(echoResult)(s, p)
	}
	visit(t, on, func(t *testing.T, s *fakeHTTP) {
		session := s.open()
		for range 2 {
			if _, err := call(t, session); err != nil {
				t.Error(err)
			}
		}
		var versions []string
		for _, p := range s.find("tools/call") {
			versions = append(versions, p.facts.Version)
			if !strings.Contains(string(p.Params), p.facts.Version) {
				t.Errorf("version %s beside %s", p.facts.Version, p.Params)
			}
		}
		if !slices.Equal(versions, []string{"2099-01-01", mcp.LatestModern, mcp.LatestModern}) || session.Info().Protocol != mcp.LatestModern {
			t.Errorf("sent %q, info %s", versions, session.Info().Protocol)
		}
	})
}

// A header that a client has sent is compared with its argument as a server compares them.
func TestHeaderParamCheck(t *testing.T) {
	const args = `{"s":"x","n":42,"word":"42","t":true,"null":null}`
	for _, c := range []struct{ name, sent, want string }{
		{"s", "x", ""}, {"n", "42", ""}, {"n", "42.0", ""}, {"n", "4.2e1", ""}, {"word", "42", ""}, {"t", "true", ""}, {"null", "-", ""}, {"no", "-", ""},
		{"s", "y", `"y", and the argument is "x"`}, {"s", "X", `is "x"`}, {"n", "43", `is "42"`}, {"word", "42.0", `is "42"`}, {"t", "True", `is "true"`},
		{"s", "-", "is missing"}, {"null", "", "no such argument"}, {"no", "x", "no such argument"}, {"n", "NaN", `is "42"`},
	} {
		err := headerParam{header: "mcp-param-h", path: []string{c.name}}.check([]byte(args), func(name string) (string, bool) {
			if name != "mcp-param-h" {
				t.Error(name)
			}
			return strings.TrimPrefix(c.sent, "-"), c.sent != "-"
		})
		if c.want == "" && err == nil {
			continue
		}
		if c.want == "" || codeOf(err) != mcp.CodeHeaderMismatch || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v", c.name, c.sent, err)
		}
	}
}
