package generate

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/generate/testdata/demo"
	_ "github.com/wharf-mcp/wharf/cmd/wharf/internal/generate/testdata/everything"
	_ "github.com/wharf-mcp/wharf/cmd/wharf/internal/generate/testdata/hostile"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/generate/testdata/kinds"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

var update = flag.Bool("update", false, "write the clients below testdata anew")

// A session can call for a client.
var _ demo.Caller = (*host.Session)(nil)

// servers are the lists of tools below testdata, each with the clients for it.
var servers = []string{"demo", "everything", "kinds", "hostile"}

func read(t *testing.T, server string) *Client {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", server+".json"))
	if err != nil {
		t.Fatal(err)
	}
	c := &Client{Server: server, Package: server}
	if err := json.Unmarshal(text, &c.Tools); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestClients compares clients with those below testdata, which this test compiles.
func TestClients(t *testing.T) {
	for _, server := range servers {
		for name, write := range map[string]func(*Client) ([]byte, error){"client.go": (*Client).Go, "client.ts": (*Client).TypeScript} {
			got, err := write(read(t, server))
			if err != nil {
				t.Errorf("%s %s: %v", server, name, err)
				continue
			}
			path := filepath.Join("testdata", server, name)
			if *update {
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, got, 0o666)); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(path); err != nil || string(got) != string(want) {
				t.Errorf("%s is another (%v); go test -update writes it, and git diff shows it:\n%s", path, err, got)
			}
		}
	}
}

// What a server says is in comments and strings, and nowhere else.
func TestHostileNames(t *testing.T) {
	text, err := read(t, "hostile").Go()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "client.go", text, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if !strings.HasPrefix(c.Text, "// ") && c.Text != "//" {
				t.Errorf("a comment that may be a directive: %q", c.Text)
			}
		}
	}
	for _, imported := range file.Imports {
		if path := imported.Path.Value; path != `"context"` && path != `"fmt"` && path != `"encoding/json"` && path != `"github.com/wharf-mcp/wharf/host/mcp"` {
			t.Errorf("it imports %s", path)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && (id.Name == "INJECTED" || id.Name == "init") {
			t.Errorf("an identifier %s", id.Name)
		}
		return true
	})

	text, err = read(t, "hostile").TypeScript()
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`(?s)"(\\.|[^"\\\n])*"|/\*.*?\*/|//[^\n]*`).ReplaceAllString(string(text), "")
	if strings.Contains(code, "INJECTED()") || strings.ContainsAny(code, "`$") || strings.ContainsAny(string(text), "\u2028\u202e\x00") {
		t.Errorf("text of the server is code:\n%s", code)
	}
}

// caller answers each call with the same structured content, and keeps the arguments.
type caller struct {
	answer    string
	failed    bool
	tool      string
	arguments string
}

func (c *caller) CallTool(_ context.Context, tool string, arguments any) (*mcp.CallToolResult, error) {
	text, err := json.Marshal(arguments)
	c.tool, c.arguments = tool, string(text)
	return &mcp.CallToolResult{
		StructuredContent: json.RawMessage(c.answer), IsError: c.failed,
		Content: []mcp.Content{{Type: "text", Text: "no such folder"}},
	}, err
}

// What is left out of arguments is not sent, and what is required is, as its type.
func TestArgumentsOfGo(t *testing.T) {
	to := &caller{answer: `{"total":1,"next":null,"found":[{"name":"a","any":{"a":"b"}}],"more":7}`}
	c := kinds.New(to)
	found, err := c.FindFiles(t.Context(), kinds.FindFilesArguments{
		Path: "/", Kind: kinds.FindFilesArgumentsKindFolder, Filter: &kinds.FindFilesFilter{Not: &kinds.FindFilesFilter{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"path":"/","kind":"folder","names":[],"labels":{},"filter":{"not":{}},"-":false}`; to.tool != "find_files" || to.arguments != want {
		t.Errorf("sent %s %s, want %s", to.tool, to.arguments, want)
	}
	if found.Total != 1 || found.Next != nil || found.Found[0].Name != "a" || string(found.Found[0].Any) != `{"a":"b"}` || found.Additional["more"] != 7 {
		t.Errorf("%+v", found)
	}
	if text, err := json.Marshal(found); err != nil || !strings.Contains(string(text), `"more":7`) {
		t.Errorf("%s, %v", text, err)
	}
	if _, err := c.FindFiles2(t.Context()); err != nil || to.arguments != `{}` {
		t.Errorf("sent %s, %v", to.arguments, err)
	}
	if _, err := c.Tree(t.Context(), kinds.TreeArguments{Additional: map[string]any{"x": 1, "parent": 2}}); err != nil || to.arguments != `{"children":[],"parent":null,"x":1}` {
		t.Errorf("sent %s, %v", to.arguments, err)
	}
	to.failed = true
	if _, err := c.FindFiles2(t.Context()); !errors.As(err, new(*kinds.ToolError)) || err.Error() != "tool findFiles: no such folder" {
		t.Errorf("%v", err)
	}
}

// A schema costs no more than the budget, whatever is in it.
func TestBounds(t *testing.T) {
	deep := strings.Repeat(`{"type":"array","items":`, 5000) + `{}` + strings.Repeat(`}`, 5000)
	var wide strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&wide, `"p%d":{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#"}]},`, i)
	}
	for name, schema := range map[string]string{
		"deep":       `{"type":"object","properties":{"a":` + deep + `}}`,
		"wide":       `{"type":"object","properties":{` + wide.String() + `"z":{}},"$defs":{"a":{"type":"object","properties":{` + wide.String() + `"z":{}}}}}`,
		"long":       `{"type":"object","properties":{"a":{"description":"` + strings.Repeat("x", mcp.MaxSchemaBytes) + `"}}}`,
		"circle":     `{"$ref":"#"}`,
		"two":        `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
		"list":       `{"type":"array","items":{"$ref":"#"}}`,
		"percent":    `{"type":"object","properties":{"a":{"$ref":"#/%24defs/a"}},"required":["a"],"$defs":{"a":{"type":"object","properties":{"b":{"$ref":"#/$defs/a"}},"required":["b"]}}}`,
		"no pointer": `{"$ref":"#a%zz"}`,
	} {
		c := &Client{Server: name, Package: "p", Tools: []mcp.Tool{{Name: name, InputSchema: json.RawMessage(schema), OutputSchema: json.RawMessage(schema)}}}
		for _, write := range []func(*Client) ([]byte, error){(*Client).Go, (*Client).TypeScript} {
			if text, err := write(c); err != nil || len(text) > 8<<20 {
				t.Errorf("%s: %d bytes, %v", name, len(text), err)
			}
		}
	}
	if _, err := (&Client{Package: "p", Tools: make([]mcp.Tool, MaxTools+1)}).Go(); err == nil {
		t.Error("any number of tools is taken")
	}
}
