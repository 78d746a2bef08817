package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// asking is a file of VS Code whose server gets what the person types.
const asking = `{"inputs": [
	{"type": "promptString", "id": "key", "description": "The key of\u001b[2J your account", "password": true},
	{"type": "pickString", "id": "region", "options": ["eu", "us"], "default": "eu"}],
 "servers": {"asking": {"command": "wharf", "args": ["demo-server"], "env": {"KEY": "${input:key}", "REGION": "${input:region}"}}}}`

// importing runs wharf on a terminal of a user who has VS Code.
func importing(t *testing.T, home string, args ...string) *screen {
	t.Helper()
	return importingFrom(t, asking, home, args...)
}

// importingFrom is [importing] for a file with that text.
func importingFrom(t *testing.T, text, home string, args ...string) *screen {
	t.Helper()
	path := filepath.Join(home, "Code", "User", "mcp.json")
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	s := newScreen(t, []string{"NO_COLOR=1", "HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=" + home}, "wharf", args...)
	s.start()
	return s
}

// Servers of another client are copied after a yes, and what their file asks for is asked
// then. Anything but yes leaves all as it was.
func TestTerminalImports(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "wharf", "wharf.toml")
	for _, answer := range []string{"\r", "n\r", "\x04"} {
		s := importing(t, home, "import")
		if shown := s.await("yes, [n]o: "); !strings.Contains(shown, "│ [servers.asking]\n│ command = \"wharf\"\n") || !strings.Contains(shown, "1 server would be added to") {
			t.Errorf("shown is %q", shown)
		}
		s.answer("", answer)
		s.ends(exit.CodeDenied, "you have not agreed to it")
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a file was written")
	}
	s := importing(t, home, "import")
	s.answer("yes, [n]o: ", "yes\r")
	if asked := s.await("key: "); strings.Contains(asked, "\x1b[2J") || !strings.Contains(asked, "│ The key of") {
		t.Errorf("asked %q", asked)
	}
	s.answer("", "k3y-of-mine\r")
	s.answer("region [eu]: ", "asia\r")
	if asked := s.await("region [eu]: "); asked != "asia\nwant one of eu, us\n" {
		t.Errorf("asked %q", asked)
	}
	s.answer("", "\r")
	s.ends(exit.CodeOK, "asking is added")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "${secret:asking/key}") || strings.Contains(string(text), "k3y-of-mine") {
		t.Errorf("%s, %v", text, err)
	}
}

// What was typed goes with an import that is cancelled at a later question, or cannot be written: the next one
// asks anew.
func TestTerminalImportsAnew(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "wharf", "wharf.toml")
	for _, way := range []struct {
		typed, says string
		code        int
		meanwhile   string // what another program writes into the configuration
	}{
		{"\x03", "interrupted", exit.CodeInterrupted, ""},
		{"us\r", `there is a server "asking" by now; run the command again`, exit.CodeUsage, "[servers.asking]\ncommand = \"x\"\n"},
		{"us\r", "asking is added", exit.CodeOK, "# of another\n"},
	} {
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		s := importing(t, home, "import")
		s.answer("yes, [n]o: ", "yes\r")
		s.answer("key: ", "k3y-of-mine\r")
		s.await("region [eu]: ")
		if way.meanwhile != "" {
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(way.meanwhile), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		s.answer("", way.typed)
		s.ends(way.code, way.says)
		if text, err := os.ReadFile(file); way.meanwhile != "" && (err != nil || !strings.HasPrefix(string(text), way.meanwhile)) {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// With --yes nothing is asked on a terminal either, and it is said how to give what is missing.
func TestTerminalImportsWithoutAsking(t *testing.T) {
	s := importing(t, t.TempDir(), "import", "--yes")
	s.ends(exit.CodeOK, "${secret:asking/key} has no value yet")
}

// An input that two servers of a file share is asked for once, and kept once.
func TestTerminalAsksOnceForTwo(t *testing.T) {
	home := t.TempDir()
	two := strings.Replace(asking, `"servers": {`, `"servers": {"also": {"command": "wharf", "env": {"KEY": "${input:key}"}}, `, 1)
	s := importingFrom(t, two, home, "import")
	s.answer("yes, [n]o: ", "yes\r")
	if asked := s.await("key: "); !strings.Contains(asked, "also and asking need the input key, which is kept in the vault:") {
		t.Errorf("asked %q", asked)
	}
	s.answer("", "k3y-of-mine\r")
	if asked := s.await("region [eu]: "); !strings.Contains(asked, "asking needs the input region,") {
		t.Errorf("asked %q", asked)
	}
	s.answer("", "\r")
	s.ends(exit.CodeOK, "asking is added")
	text, err := os.ReadFile(filepath.Join(home, "wharf", "wharf.toml"))
	if err != nil || strings.Count(string(text), "${secret:also/key}") != 2 {
		t.Errorf("%s, %v", text, err)
	}
}

// What a file named by --config asks for is asked when its server is first used, and then
// no more.
func TestTerminalAsksQuestions(t *testing.T) {
	home := t.TempDir()
	named := []string{"call", "asking", "echo", "message=x", "--config", filepath.Join(home, "Code", "User", "mcp.json")}
	s := importing(t, home, named...)
	s.answer("key: ", "k3y-of-mine\r")
	s.answer("region [eu]: ", "us\r")
	s.ends(exit.CodeOK, "x")
	s = importing(t, home, named...)
	s.ends(exit.CodeOK, "x")
}

// A person who has no other client is told so, and what to type next.
func TestTerminalImportsNothing(t *testing.T) {
	for _, args := range [][]string{{"import"}, {"import", "--list"}} {
		shown := onTerminal(t, []string{"NO_COLOR=1", "HOME=" + t.TempDir()}, "wharf", args...)
		if !strings.HasPrefix(shown, "No file of another client with servers was found. `wharf import --help`") || strings.Contains(shown, "SERVER") {
			t.Errorf("%q: shown is %q", args, shown)
		}
	}
	home := t.TempDir()
	shown := onTerminal(t, []string{"NO_COLOR=1", "HOME=" + home}, "wharf", "import", "--list", "cursor")
	if want := "No file of cursor with servers was found. These were looked for:\n  " + home + "/.cursor/mcp.json\n"; shown != want {
		t.Errorf("shown is %q, want %q", shown, want)
	}
}
