package session

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/schema"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// some is a list of so many elements, each with its number.
func some(elements int, format string) string {
	parts := make([]string, elements)
	for n := range parts {
		parts[n] = strings.ReplaceAll(format, "%d", strconv.Itoa(n))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

// TestListsAreBounded is about the last element and the last byte that are read of
// all pages of a list together.
func TestListsAreBounded(t *testing.T) {
	half := func(from, to int) string {
		var names []string
		for n := from; n < to; n++ {
			names = append(names, fmt.Sprintf(`{"name":"t%d"}`, n))
		}
		return strings.Join(names, ",")
	}
	const middle = mcp.MaxElements / 2
	two := func(elements int) []string {
		return []string{
			`{"tools":[` + half(0, middle) + `],"nextCursor":"b"}`,
			`{"tools":[` + half(middle, elements) + `]}`,
		}
	}
	large := func(bytes int) []string {
		const frame = len(`{"tools":[{"name":"a","description":""}],"nextCursor":"b"}`)
		first := `{"tools":[{"name":"a","description":"` + strings.Repeat("x", bytes-100-frame) + `"}],"nextCursor":"b"}`
		second := `{"tools":[{"name":"b"}]}`
		return []string{first, second + strings.Repeat(" ", 100-len(second)-1) + " "}
	}
	for _, test := range []struct {
		name  string
		pages []string
		tools int
		want  string // of the error
	}{
		{"elements at the bound", two(mcp.MaxElements), mcp.MaxElements, ""},
		{"an element more", two(mcp.MaxElements + 1), 0, `list tools on files: invalid result: member "tools": want at most 10000 elements`},
		{"bytes at the bound", large(mcp.MaxListBytes), 2, ""},
		{"a byte more", large(mcp.MaxListBytes + 1), 0, "list tools on files: invalid result: want a list of at most 8388608 bytes, its first 2 pages have 8388609"},
	} {
		t.Run(test.name, func(t *testing.T) {
			tools, err := fetched(test.pages)
			if len(tools) != test.tools || (err == nil) != (test.want == "") || err != nil && !strings.Contains("list tools on files: "+err.Error(), test.want) {
				t.Errorf("%d tools, %v", len(tools), err)
			}
			if err != nil && !errors.Is(err, ErrInvalidResult) {
				t.Errorf("%v is no invalid result", err)
			}
		})
	}
	t.Run("arguments of prompts count too", func(t *testing.T) {
		for arguments, fits := range map[int]bool{mcp.MaxElements - 2: true, mcp.MaxElements - 1: false} {
			l := newList(&promptKind)
			_, err := l.add([]byte(`{"prompts":[{"name":"a","arguments":[{}]},{"name":"b","arguments":`+some(arguments-1, `{}`)+`}]}`), dialect{era: mcp.Legacy})
			if (err == nil) != fits || err != nil && !errors.Is(err, ErrInvalidResult) {
				t.Errorf("%d arguments: %v", arguments, err)
			}
		}
	})
}

// fetched reads the pages of a list of tools.
func fetched(pages []string) ([]mcp.Tool, error) {
	l := newToolList(false)
	for _, page := range pages {
		if _, err := l.add([]byte(page), dialect{era: mcp.Legacy}); err != nil {
			return nil, err
		}
	}
	return l.items, nil
}

// TestResultsAreBounded: what is at the bound is read whole, and one more is an error
// that names server, method and bound.
func TestResultsAreBounded(t *testing.T) {
	for _, test := range []struct {
		method, format string // of a result with a list in the place of %s
		element, want  string
		ask            func(ctx context.Context, s *Session) (int, error)
	}{
		{"tools/call", `{"content":%s}`, `{"type":"text"}`, "call echo on files: invalid result: want at most 10000", func(ctx context.Context, s *Session) (int, error) {
			r, err := s.CallTool(ctx, "echo", nil)
			if err != nil {
				return 0, err
			}
			return len(r.Content), nil
		}},
		{"prompts/get", `{"messages":%s}`, `{"role":"user"}`, "get prompt p on files: invalid result: want at most 10000", func(ctx context.Context, s *Session) (int, error) {
			r, err := s.GetPrompt(ctx, "p", nil)
			if err != nil {
				return 0, err
			}
			return len(r.Messages), nil
		}},
		{"resources/read", `{"contents":%s}`, `{"uri":"u"}`, "read u on files: invalid result: want at most 10000", func(ctx context.Context, s *Session) (int, error) {
			r, err := s.ReadResource(ctx, "u")
			if err != nil {
				return 0, err
			}
			return len(r.Contents), nil
		}},
		{"completion/complete", `{"completion":{"values":%s}}`, `"v"`, "complete  on files: invalid result: want at most 10000", func(ctx context.Context, s *Session) (int, error) {
			r, err := s.Complete(ctx, mcp.CompleteParams{})
			if err != nil {
				return 0, err
			}
			return len(r.Values), nil
		}},
	} {
		t.Run(test.method, func(t *testing.T) {
			bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
				fits := fmt.Sprintf(test.format, some(mcp.MaxElements, test.element))
				over := fmt.Sprintf(test.format, some(mcp.MaxElements+1, test.element))
				srv := oldServer()
				srv.on["initialize"] = answer(`{"protocolVersion":"2025-11-25","capabilities":{"prompts":{},"resources":{},"completions":{}}}`)
				s := launcher(srv.with(test.method, inOrder(answer(fits), answer(over)))).open()
				if n, err := test.ask(t.Context(), s); n != mcp.MaxElements || err != nil {
					t.Errorf("at the bound: %d, %v", n, err)
				}
				if _, err := test.ask(t.Context(), s); !errors.Is(err, ErrInvalidResult) || !strings.HasPrefix(err.Error(), test.want) {
					t.Errorf("one over: %v", err)
				}
			})
		})
	}
}

// TestHeadersOfAToolAreBounded: a tool may show so many arguments, and not one more.
func TestHeadersOfAToolAreBounded(t *testing.T) {
	shown := func(n int) []byte {
		list := some(n, `"p%d":{"type":"string","x-mcp-header":"H%d"}`)
		return []byte(`{"properties":{` + list[1:len(list)-1] + `}}`)
	}
	if m, err := readHeaderParams(shown(mcp.MaxHeaderParams)); len(m) != mcp.MaxHeaderParams || err != nil {
		t.Errorf("at the bound: %d, %v", len(m), err)
	}
	if _, err := readHeaderParams(shown(mcp.MaxHeaderParams + 1)); err == nil || !strings.Contains(err.Error(), "more than 64 parameters") {
		t.Errorf("one over: %v", err)
	}
}

// TestNamesInErrorsAreBounded: the first names are listed, and the others counted.
func TestNamesInErrorsAreBounded(t *testing.T) {
	object := func(n int) []byte {
		list := some(n, `"c%d":{}`)
		return []byte("{" + list[1:len(list)-1] + "}")
	}
	if names := namesOf(object(mcp.MaxNames)); len(names) != mcp.MaxNames || names[mcp.MaxNames-1] != "c19" {
		t.Errorf("%q", names)
	}
	if names := namesOf(object(mcp.MaxNames + 3)); len(names) != mcp.MaxNames+1 || names[mcp.MaxNames] != "and 3 more" {
		t.Errorf("%q", names)
	}
	if names := namesOf([]byte(`{"` + strings.Repeat("x", 1000) + `":1}`)); len(names) != 1 || len(names[0]) > 210 || !strings.HasSuffix(names[0], "…") {
		t.Errorf("%q", names)
	}
}

// TestKeysOfQuestionsAreBounded is about the names under which a result asks.
func TestKeysOfQuestionsAreBounded(t *testing.T) {
	ask := func(key int) error {
		_, err := readInputRequired([]byte(`{"inputRequests":{"` + strings.Repeat("k", key) + `":{"method":"roots/list"}}}`))
		return err
	}
	if err := ask(mcp.MaxKey); err != nil {
		t.Error(err)
	}
	if err := ask(mcp.MaxKey + 1); !errors.Is(err, ErrInvalidResult) {
		t.Error(err)
	}
}

// TestAcknowledgementsAreBounded: a stream is not opened by a word of more resources
// than are read.
func TestAcknowledgementsAreBounded(t *testing.T) {
	word := func(n int) []byte {
		return []byte(`{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"notifications":{"resourceSubscriptions":` + some(n, `"u%d"`) + `}}`)
	}
	if id, f, err := readAcknowledged(word(mcp.MaxElements)); id != "1" || len(f.URIs) != mcp.MaxElements || err != nil {
		t.Errorf("at the bound: %q, %d, %v", id, len(f.URIs), err)
	}
	if id, _, err := readAcknowledged(word(mcp.MaxElements + 1)); id != "1" || !errors.Is(err, ErrInvalidResult) {
		t.Errorf("one over: %q, %v", id, err)
	}
	bubble(t, func(t *testing.T, launcher func(...server) *launcher) {
		s := launcher(newServer().with("subscriptions/listen", func(p *process, m message) {
			p.print(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s},"notifications":{"resourceSubscriptions":%s}}}`,
				m.ID, some(mcp.MaxElements+1, `"u%d"`))
		})).open()
		_, err := s.Subscribe(t.Context(), mcp.Filter{Tools: true})
		if !errors.Is(err, ErrInvalidResult) || !strings.Contains(err.Error(), "what the server acknowledges: ") {
			t.Error(err)
		}
	})
}

// TestFreshReadsAreCounted: what takes the place of the same resource is not counted
// on top of it.
func TestFreshReadsAreCounted(t *testing.T) {
	var r reads
	until := freshUntil(1e6, dialect{era: mcp.Modern})
	for range 3 {
		r.store("u", []byte("12345"), until, 0)
	}
	if r.store("v", nil, until, 0); r.bytes != len("u")+len("12345")+len("v") {
		t.Errorf("%d bytes are counted", r.bytes)
	}
}

// TestCompiledSchemasAreBounded calls one tool after the other, whose schemas take more
// memory than is kept for all: the oldest are forgotten, and compiled again.
func TestCompiledSchemasAreBounded(t *testing.T) {
	warned := 0
	s := &Session{cfg: Config{Warn: func(string) { warned++ }}}
	compiles := func(c *toolSchema) (made bool) {
		c.check(s, "arguments", "t", func(*schema.Schema) error { made = true; return nil })
		return made
	}
	properties := some(1500, `"p%d":{"minLength":1,"pattern":"(?=x)"}`)
	text := []byte(`{"properties":{` + properties[1:len(properties)-1] + `}}`)
	schemas := make([]*toolSchema, 40)
	k := &s.toolCache.compiled
	for n := range schemas {
		c := newToolSchema(text)
		schemas[n] = &c
		if !compiles(schemas[n]) {
			t.Fatal(schemas[n].result.Load().flaw)
		}
		total := 0
		for _, bytes := range k.sizes {
			total += bytes
		}
		if k.bytes != total || len(k.sizes) != len(k.schemas) || k.bytes > maxCompiled {
			t.Fatalf("%d schemas with %d bytes, %d counted", len(k.schemas), total, k.bytes)
		}
	}
	kept := len(k.schemas)
	if first, last := schemas[0].result.Load().made, schemas[39].result.Load().made; first != nil || last == nil || kept < 2 || kept > 30 {
		t.Errorf("%d are kept, the first among them: %v, the last: %v", kept, first != nil, last != nil)
	}
	if !compiles(schemas[0]) || k.schemas[len(k.schemas)-1] != schemas[0] || len(k.schemas) != kept {
		t.Error("the first is not compiled again")
	}
	if warned != len(schemas) {
		t.Errorf("%d warnings, want one for each of %d", warned, len(schemas))
	}
}

// TestCompiledSchemasToTheByte: the bound itself is kept, and one schema always is.
func TestCompiledSchemasToTheByte(t *testing.T) {
	made := func() *toolSchema {
		c := newToolSchema([]byte("{}"))
		c.compile(new(compiled))
		return &c
	}
	var k compiled
	k.add(made(), maxCompiled-1)
	if k.add(made(), 1); len(k.schemas) != 2 || k.bytes != maxCompiled {
		t.Errorf("at the bound: %d with %d bytes", len(k.schemas), k.bytes)
	}
	if k.add(made(), 1); len(k.schemas) != 2 || k.bytes != 2 {
		t.Errorf("one over: %d with %d bytes", len(k.schemas), k.bytes)
	}
	if k.add(made(), maxCompiled+1); len(k.schemas) != 1 || k.bytes != maxCompiled+1 {
		t.Errorf("a large one: %d with %d bytes", len(k.schemas), k.bytes)
	}
}
