package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// Who has written mistakes may leave them, or have the file as it was before, or none where none
// was.
func TestTerminalUndoesAnEdit(t *testing.T) {
	const good, bad, again = "[servers.x]\ncommand = \"true\"\n", "[servers.x]\ncomand = \"true\"\n", "Edit it again? [y]es, [n]o, [u]ndo: "
	for _, c := range []struct {
		before string
		last   string
		code   int
		says   string
		after  string
	}{
		{good, "undo\r", exit.CodeOK, "The configuration is as it was before.\n", good},
		{"", "undo\r", exit.CodeOK, "The configuration is as it was before.\n", ""},
		{good, "u\r", exit.CodeOK, "The configuration is as it was before.\n", good},
		{good, "n\r", exit.CodeUsage, "stays as you wrote it, with its mistakes", bad},
		{good, "\r", exit.CodeUsage, "stays as you wrote it, with its mistakes", bad},
		{good, "\x04", exit.CodeUsage, "stays as you wrote it, with its mistakes", bad},
	} {
		dir := t.TempDir()
		typed, path := filepath.Join(dir, "typed"), filepath.Join(dir, "wharf.toml")
		if err := os.WriteFile(typed, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.before != "" {
			if err := os.WriteFile(path, []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := newScreen(t, []string{"NO_COLOR=1", "VISUAL=cp " + typed}, "wharf", "--config", path, "edit")
		s.start()
		s.answer(again, "yes\r")
		s.answer(again, c.last)
		s.ends(c.code, c.says)
		text, err := os.ReadFile(path)
		if string(text) != c.after || errors.Is(err, fs.ErrNotExist) != (c.after == "") {
			t.Errorf("%q: the file is %q, %v", c.last, text, err)
		}
	}
}
