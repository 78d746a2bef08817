package term

import (
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/cleantext"
)

func TestPrintRaw(t *testing.T) {
	tests := []struct {
		name string
		tty  bool
		line bool
		want string
	}{
		{"for programs as it is", false, false, "{\"a\":\"\u202e\u009b<é>\"}\n"},
		{"on a terminal indented and harmless", true, false, "{\n  \"a\": \"\\u202e\\u009b<é>\"\n}\n"},
		{"on a terminal one line", true, true, `{"a":"\u202e\u009b<é>"}` + "\n"},
	}
	const value = "{\n  \"a\": \"\u202e\u009b<é>\"\n}"
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			a := &Terminal{Out: &out, OutTTY: tt.tty, OneLine: tt.line}
			if err := a.PrintRaw(json.RawMessage(value)); err != nil {
				t.Fatal(err)
			}
			if out.String() != tt.want {
				t.Errorf("got %q, want %q", out.String(), tt.want)
			}
			var before, after any
			if json.Unmarshal([]byte(value), &before) != nil || json.Unmarshal([]byte(out.String()), &after) != nil {
				t.Fatal("not JSON")
			}
		})
	}
}

func TestTable(t *testing.T) {
	rows := plain.Table{
		{"TOOL", "ARGUMENTS", "DESCRIPTION"},
		{"écho", "message=string", "Says a message back to its sender"},
		{"x", strings.Repeat("a", 60), ""},
	}
	want := "TOOL · ARGUMENTS · DESCRIPTION\n" +
		"écho  message=string\n    Says a message back to its sender\n" +
		"x\n    " + strings.Repeat("a", 60) + "\n"
	var out strings.Builder
	a := &Terminal{Out: &out, OutTTY: true, Width: 50}
	if err := a.PrintTable(rows); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestStyles(t *testing.T) {
	if got := (&Terminal{Colour: true, OutTTY: true}).StyleOut(Bold, "x"); got != Bold+"x"+styleOff {
		t.Errorf("on a terminal: %q", got)
	}
	if got := (&Terminal{Colour: true}).StyleOut(Bold, "x"); got != "x" {
		t.Errorf("piped: %q", got)
	}
	if got := (&Terminal{OutTTY: true}).StyleOut(Bold, "x"); got != "x" {
		t.Errorf("with NO_COLOR: %q", got)
	}
}

// TestPartsOfText: what is printed part by part is what is printed at once.
func TestPartsOfText(t *testing.T) {
	for _, edge := range []string{"\r\n", "é", "🚢", "\x1b", "\xff", "\xf0\x9f", "\x80\x80\x80\x80\x80"} {
		for before := range 6 {
			text := strings.Repeat("x", printPart-before) + edge + strings.Repeat("y", printPart) + edge
			var out strings.Builder
			a := &Terminal{Out: &out}
			if err := a.PrintPlain(text); err != nil || out.String() != cleantext.Text(text) {
				t.Errorf("%q %d bytes before the end of a part: %v", edge, before, err)
			}
		}
	}
}

// What is copied from a hint stays in one row where it fits into one, and a path is not broken.
func TestHintIsCopied(t *testing.T) {
	for text, want := range map[string]string{
		"look at it with `wharf doctor x`":                      "hint: look at it with\n  `wharf doctor x`\n",
		"write env = { A = \"${A}\" } in":                       "hint: write\n  env = { A = \"${A}\" } in\n",
		"the line cap = \"64MiB\" under":                        "hint: the line\n  cap = \"64MiB\" under\n",
		"see /home/me/a-long/path/to/wharf.toml:12 first":       "hint: see\n  /home/me/a-long/path/to/wharf.toml:12\n  first\n",
		"type `wharf call demo echo message=hello --json` then": "hint: type `wharf call\n  demo echo message=hello\n  --json` then\n",
	} {
		var out strings.Builder
		s := &Terminal{Err: &Console{To: &out, Size: func() (int, int) { return 26, 24 }}}
		if s.Hint(text); out.String() != want {
			t.Errorf("%q: %q, want %q", text, out.String(), want)
		}
	}
}

// A path has a row of its own where it does not fit beside its label, and is not broken.
func TestPlace(t *testing.T) {
	for columns, want := range map[int]string{40: "file: /home/me/wharf.toml\n", 24: "file:\n  /home/me/wharf.toml\n"} {
		var out strings.Builder
		s := &Terminal{Err: &Console{To: &out, Size: func() (int, int) { return columns, 24 }}}
		s.Place("file:", "/home/me/wharf.toml")
		if out.String() != want {
			t.Errorf("%d columns: %q", columns, out.String())
		}
	}
}

// People read letters, and never a character that a terminal would act on.
func TestIndentedHasLetters(t *testing.T) {
	for value, want := range map[string]string{
		`"\u65e5\u672c \ud83d\ude00 \u003ca\u003e caf\u00E9"`: `"日本 😀 <a> café"`,
		`"\u0022 \u005c \\u65e5 \\\u65e5 \n\/"`:               `"\u0022 \u005c \\u65e5 \\日 \n\/"`,
		`"\u0000 \u001b[2J \u202e \ud83d \ud83dx \ude00"`:     `"\u0000 \u001b[2J \u202e \ud83d \ud83dx \ude00"`,
		`"\ud83d\u0041"`: `"\ud83dA"`,
		`{"\u65e5":1}`:   "{\n  \"日\": 1\n}",
	} {
		got := Indented(json.RawMessage(value))
		var before, after any
		if json.Unmarshal([]byte(value), &before) != nil || json.Unmarshal([]byte(got), &after) != nil || !reflect.DeepEqual(before, after) || got != want {
			t.Errorf("%s is shown as %s, want %s", value, got, want)
		}
	}
}

func FuzzIndented(f *testing.F) {
	f.Add([]byte(`"\u65e5\ud83d\ude00\\u0041\u"`))
	f.Fuzz(func(t *testing.T, value []byte) {
		var before, after any
		if json.Unmarshal(value, &before) != nil {
			return
		}
		shown := Indented(value)
		if err := json.Unmarshal([]byte(shown), &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Errorf("%q is shown as %q: %v", value, shown, err)
		}
	})
}

// A table that is printed after the terminal became narrower is as wide as it is then.
func TestPrintTableAfterAResize(t *testing.T) {
	var out strings.Builder
	console := &Console{To: io.Discard, Size: func() (int, int) { return 30, 24 }}
	terminal := &Terminal{Out: &out, OutTTY: true, Width: 120, Err: console}
	if err := terminal.PrintTable(plain.Table{{"NAME", "ABOUT"}, {"a", strings.Repeat("word ", 12)}}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if len(strings.TrimRight(line, "\n")) > 30 {
			t.Errorf("%q is wider than 30 columns", line)
		}
	}
}
