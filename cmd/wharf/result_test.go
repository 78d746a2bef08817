package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/mcp"
)

func TestResultForPeople(t *testing.T) {
	tests := []struct{ name, result, want string }{
		{"text", `{"content":[{"type":"text","text":"hello"}]}`, "hello\n"},
		{"text with newline", `{"content":[{"type":"text","text":"hello\n"}]}`, "hello\n"},
		{"JSON", `{"content":[{"type":"text","text":" {\"a\":[1.0]}"}]}`, "{\n  \"a\": [\n    1.0\n  ]\n}\n"},
		{"no JSON", `{"content":[{"type":"text","text":"{a}"}]}`, "{a}\n"},
		{"two blocks", `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, "a\nb\n"},
		{"image", `{"content":[{"type":"image","data":"aGVsbG8=","mimeType":"image/png"}]}`, "[image/png, 5 bytes; --save DIR writes it to a file]\n"},
		{"audio", `{"content":[{"type":"audio","data":"aA==","mimeType":"audio/wav"}]}`, "[audio/wav, 1 byte; --save DIR writes it to a file]\n"},
		{"no base64", `{"content":[{"type":"image","data":"aGV","mimeType":"image/png"}]}`, "[image/png, data that are no base64]\n"},
		{"link", `{"content":[{"type":"resource_link","uri":"file:///a","name":"a"}]}`, "[file:///a, a]\n"},
		{"resource text", `{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"inside"}}]}`, "inside\n"},
		{"resource bytes", `{"content":[{"type":"resource","resource":{"uri":"file:///a","mimeType":"a/b","blob":"aGVsbG8="}}]}`, "[file:///a, a/b, 5 bytes; --save DIR writes it to a file]\n"},
		{"unknown block", `{"content":[{"type":"scent","notes":["oak"]}]}`, "{\n  \"type\": \"scent\",\n  \"notes\": [\n    \"oak\"\n  ]\n}\n"},
		{"structured only", `{"content":[],"structuredContent":{"sum":3}}`, "{\n  \"sum\": 3\n}\n"},
		{"structured beside text", `{"content":[{"type":"text","text":"3"}],"structuredContent":{"sum":3}}`, "3\n"},
		{"structured with the picture", `{"content":[{"type":"image","data":"aGVsbG8=","mimeType":"image/png"}],"structuredContent":{"title":"a dot","shot":"aGVsbG8="}}`, "[image/png, 5 bytes; --save DIR writes it to a file]\n{\n  \"title\": \"a dot\",\n  \"shot\": \"[5 bytes, above]\"\n}\n"},
		{"structured with the file", `{"content":[{"type":"resource","resource":{"uri":"file:///a","blob":"aGVsbG8="}}],"structuredContent":{"blob":"aGVsbG8="}}`, "[file:///a, 5 bytes; --save DIR writes it to a file]\n{\n  \"blob\": \"[5 bytes, above]\"\n}\n"},
		{"structured beside a picture", `{"content":[{"type":"image","data":"aGVsbG8=","mimeType":"image/png"}],"structuredContent":{"sum":3}}`, "[image/png, 5 bytes; --save DIR writes it to a file]\n{\n  \"sum\": 3\n}\n"},
		{"nothing", `{"content":[]}`, ""},
		{"steering", `{"content":[{"type":"text","text":"\u001b[2J\u202e"}]}`, "\\x1b[2J\\u202e\n"},
		{"steering in a note", `{"content":[{"type":"image","data":"","mimeType":"a\n\u001b]0;x"}]}`, "[a \\x1b]0;x, no data]\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, stderr strings.Builder
			a := &app{Terminal: &term.Terminal{Out: &out, Err: &stderr, OutTTY: true}}
			if failed, err := a.printResult(json.RawMessage(tt.result)); err != nil || failed {
				t.Fatal(failed, err)
			}
			if out.String() != tt.want {
				t.Errorf("got %q, want %q", out.String(), tt.want)
			}
			if note := stderr.String(); (tt.want == "") != (note == "note: the result is empty\n") {
				t.Errorf("on stderr: %q", note)
			}
		})
	}
}

// In Markdown, what was saved has a link with a label, also where the server gives it no kind.
func TestMarkdownOfSavedBytes(t *testing.T) {
	for block, want := range map[string]string{
		`{"type":"resource","resource":{"uri":"file:///a/b.x","mimeType":"a/b","blob":"aA=="}}`: "[a/b](<%s>)\n",
		`{"type":"resource","resource":{"uri":"file:///a/b.x","blob":"aA=="}}`:                  "[file:///a/b.x](<%s>)\n",
		`{"type":"audio","data":"aA=="}`:                                                        "[audio](<%s>)\n",
	} {
		var out strings.Builder
		a := &app{Terminal: &term.Terminal{Out: &out, Err: io.Discard}, flags: flags{output: formatMarkdown, save: t.TempDir()}}
		_, err := a.printResult(json.RawMessage(`{"content":[` + block + `]}`))
		files, _ := filepath.Glob(filepath.Join(a.flags.save, "*"))
		if err != nil || len(files) != 1 || out.String() != fmt.Sprintf(want, files[0]) {
			t.Errorf("%s: %q, %v, %q", block, out.String(), err, files)
		}
	}
}

// A program that asks for the text gets it as it is.
func TestTextOfJSONForAProgram(t *testing.T) {
	var out strings.Builder
	a := &app{Terminal: &term.Terminal{Out: &out, Err: io.Discard}, flags: flags{output: formatText}}
	if _, err := a.printResult(json.RawMessage(`{"content":[{"type":"text","text":"{\"a\":1}"}]}`)); err != nil || out.String() != "{\"a\":1}\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// TestPicturesOnATerminal: a terminal that is known to show pictures gets them below the text,
// and no other does.
func TestPicturesOnATerminal(t *testing.T) {
	const result = `{"content":[{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"},{"type":"text","text":"a dot"}]}`
	const text = "[image/png, 8 bytes; --save DIR writes it to a file]\na dot\n"
	for terminal, want := range map[string]string{"xterm": "", "xterm-kitty": "\x1b_Ga=T,f=100,q=2,m=0;iVBORw0KGgo=\x1b\\\n"} {
		t.Setenv("TERM", terminal)
		var out strings.Builder
		a := &app{Terminal: &term.Terminal{Out: &out, Err: io.Discard, OutTTY: true}}
		if _, err := a.printResult(json.RawMessage(result)); err != nil || out.String() != text+want {
			t.Errorf("%s: %v, %q", terminal, err, out.String())
		}
	}
}

// What the tool said is not lost where it is no result: it stands on stdout, and
// what is wrong with it is said in words of ours.
func TestResultThatIsNone(t *testing.T) {
	for result, want := range map[string]string{
		`{"content":"text"}`:              "content: expected an array, got string",
		`{"content":{"a":1}}`:             "content: expected an array, got object",
		`{"content":[1]}`:                 "content block: expected an object, got number",
		`{"content":[],"isError":"true"}`: "isError: expected a boolean, got string",
		`{"content":[],"resultType":1}`:   "resultType: expected a string, got number",
		`"ok"`:                            "expected an object, got string",
		`[]`:                              "expected an object, got array",
	} {
		for _, people := range []bool{true, false} {
			var out strings.Builder
			a := &app{server: "files", Terminal: &term.Terminal{Out: &out, OutTTY: people}}
			_, err := a.printResult(json.RawMessage(result))
			if err == nil || err.Error() != "call files: the result is not one of a tool: "+want {
				t.Errorf("%s: %v, want %s", result, err, want)
			}
			if end := exit.KindOf(t.Context(), err); end != (exit.Kind{Code: exit.CodeServer, Name: "protocol"}) {
				t.Errorf("%s: %v", result, end)
			}
			var printed bytes.Buffer
			if err := json.Compact(&printed, []byte(out.String())); err != nil || printed.String() != result {
				t.Errorf("%s: printed %q", result, out.String())
			}
		}
	}
}

func TestToolSignature(t *testing.T) {
	tool := mcp.Tool{InputSchema: json.RawMessage(`{
		"properties": {"z": {"type": "string"}, "a": {"type": ["integer", "null"]}, "m": {}, "": {"type": "string"}},
		"required": ["z", "ghost"]
	}`)}
	if got, want := signature(tool), `z=string [a=integer|null] [m=…] [""=string]`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
