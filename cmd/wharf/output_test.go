package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
)

func TestPrintRaw(t *testing.T) {
	tests := []struct {
		name string
		tty  bool
		want string
	}{
		{"for programs as it is", false, "{\"a\":\"\u202e\u009b<é>\"}\n"},
		{"on a terminal harmless", true, `{"a":"\u202e\u009b<é>"}` + "\n"},
	}
	const value = "{\n  \"a\": \"\u202e\u009b<é>\"\n}"
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			a := &app{stdio: stdio{out: &out, outTTY: tt.tty}}
			if err := a.printRaw(json.RawMessage(value)); err != nil {
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
		{"écho", "message=string", "Says a message back to whoever sent it"},
		{"x", strings.Repeat("a", 60), ""},
	}
	want := "TOOL  ARGUMENTS                                 DESCRIPTION\n" +
		"écho  message=string                            Says a message back…\n" +
		"x     " + strings.Repeat("a", 39) + "…\n"
	var out strings.Builder
	a := &app{stdio: stdio{out: &out, outTTY: true, width: 50}}
	if err := a.printTable(rows); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestStyles(t *testing.T) {
	if got := (stdio{colour: true}).styled(true, styleBold, "x"); got != styleBold+"x"+styleOff {
		t.Errorf("on a terminal: %q", got)
	}
	if got := (stdio{colour: true}).styled(false, styleBold, "x"); got != "x" {
		t.Errorf("piped: %q", got)
	}
	if got := (stdio{}).styled(true, styleBold, "x"); got != "x" {
		t.Errorf("with NO_COLOR: %q", got)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"tools", "call", "servers", "filesystem"}
	for word, want := range map[string]string{
		"tols": "tools", "tolos": "tools", "cal": "call", "serves": "servers", "files": "filesystem",
		"xyzzy": "", "x": "", strings.Repeat("tools", 50): "", "TOOLS": "tools",
	} {
		if got := nearest(word, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}
