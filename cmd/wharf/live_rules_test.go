package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
)

// A mistake in the configuration of a program that serves is told once, and again when it comes back.
func TestServeTellsOfAMistakeOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "wharf.toml")
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	var said bytes.Buffer
	a := &app{Terminal: &term.Terminal{In: strings.NewReader(""), Out: &said, Err: &said}, flags: flags{config: file}}
	s, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := newLiveRules(s)
	if err != nil {
		t.Fatal(err)
	}
	var told toldMistakes
	for _, step := range []struct {
		text string
		want int // warnings
	}{
		{"", 0}, {"mistake\n", 1}, {"mistake\n", 0}, {"mistake\n# more\n", 0}, {"\nmistake\n", 1}, {"", 0}, {"\nmistake\n", 1},
		{"[access.x]\nallow = 1\n", 1}, {"[access.x]\nallow = 1\n", 0},
	} {
		write(step.text)
		said.Reset()
		a.reread(rules, nil, nil, &told)
		if got := strings.Count(said.String(), "who may call what is as before: configuration: "); got != step.want {
			t.Errorf("%q: %d warnings, want %d: %s", step.text, got, step.want, said.String())
		}
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	a.Life = interrupted
	said.Reset()
	a.reread(rules, nil, nil, &told)
	if said.Len() > 0 {
		t.Errorf("an interrupt: %s", said.String())
	}
}
