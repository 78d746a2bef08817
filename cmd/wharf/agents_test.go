package main

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
)

// TestAgentsPage: each command and each flag on the page is one, and the page is short.
func TestAgentsPage(t *testing.T) {
	root := newRoot(&app{Terminal: &term.Terminal{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}})
	commands := regexp.MustCompile(`\bwharf ([a-z]+)(?: ([a-z]+))?`).FindAllStringSubmatch(agentsLong, -1)
	if len(commands) < 12 {
		t.Fatalf("found %d commands", len(commands))
	}
	for _, m := range commands {
		words := strings.Fields(strings.TrimPrefix(m[0], "wharf help "))
		if m[1] != "help" {
			words = words[1:]
		}
		found, rest, err := root.Find(words)
		if err != nil || found == root || found.HasSubCommands() {
			t.Errorf("%q is no command: %v, %q", m[0], err, rest)
		}
	}
	call, _, _ := root.Find([]string{"call"})
	for _, flag := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(agentsLong, -1) {
		add, _, _ := root.Find([]string{"add"})
		tools, _, _ := root.Find([]string{"tools"})
		if call.Flag(flag[1]) == nil && add.Flag(flag[1]) == nil && tools.Flag(flag[1]) == nil && flag[1] != "help" {
			t.Errorf("there is no flag %s", flag[0])
		}
	}
	if n := strings.Count(agentsLong, "\n"); n > 50 {
		t.Errorf("the page has %d lines", n)
	}
}
