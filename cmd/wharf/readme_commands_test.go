package main

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
)

// A command of the guides stands on a line of its own, or between backticks, which may
// be on two lines.
var (
	commandLine   = regexp.MustCompile(`(?m)^(?:go run \./cmd/)?wharf (.+)$`)
	commandInline = regexp.MustCompile("`wharf ([^`]+)`")
)

// TestReadmeCommands parses the commands of the guides that TestReadme does not run: the
// command and its flags are there, and one on a line of its own has the arguments that
// it takes.
func TestReadmeCommands(t *testing.T) {
	text := guides(t)
	lines := commandLine.FindAllStringSubmatch(text, -1)
	inline := commandInline.FindAllStringSubmatch(text, -1)
	if len(lines) == 0 || len(inline) == 0 {
		t.Fatal("no commands are found")
	}
	for n, c := range append(lines, inline...) {
		text, _, _ := strings.Cut(c[1], " #")
		cmd := newRoot(&app{Terminal: &term.Terminal{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}})
		found, rest, err := cmd.Find(strings.Fields(text))
		if err == nil && found == cmd && text != "--help" {
			t.Errorf("wharf %s: there is no such command", text)
			continue
		}
		if err == nil && text != "--help" {
			err = found.ParseFlags(rest)
		}
		if err == nil && n < len(lines) {
			err = found.ValidateArgs(found.Flags().Args())
		}
		if err != nil {
			t.Errorf("wharf %s: %v", text, err)
		}
	}
}
