package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// editorStory is what each editor sees of the servers of [editorConfig].
const editorStory = `servers: demo disconnected, everything disconnected, notes disconnected
started: everything connected
result: Long running operation completed. Duration: 0.4 seconds, Steps: 2.
progress: 1 of 2, 2 of 2
cancelled: -32800 cancelled
form: Name: Ada Lovelace
page: notes signs in: true
signed in: ada may notes:read
killed: everything reconnecting lost
back: Echo: again
event: demo://clock of demo
`

// The server everything writes its process id to a file, and so can be killed.
const editorConfig = `
[servers.demo]
command = "wharf"
args    = ["demo-server"]

[servers.everything]
command = "sh"
args    = ["-c", 'echo "$$$$" >"$$0"; exec node "$$1"', KILLED, EVERYTHING]

[servers.notes]
url = MCP
`

// TestInteropEditors plays the examples of plugins of editors: each lists servers, starts one, calls a
// tool with progress, cancels a call, fills in a form, signs in at an authorization server with a
// browser, kills a server and sees it come back, and hears of an event. See [TestInterop] and
// [TestInteropSignIn] for what it wants; besides, it wants the editors.
func TestInteropEditors(t *testing.T) {
	for _, editor := range []struct {
		folder, program string
		line            string // of the shell, which plays the story
		ends            string // of what this editor sees alone
	}{
		{"nvim", "nvim", "nvim --headless -u NONE -i NONE '+luafile story.lua' '+qa!'", "ended: 0\n"},
		{"emacs", "emacs", "emacs -Q --batch -L . -l story.el <story.txt", "again: 3 servers\n"},
		{"vscode", "node", "NODE_PATH=test node test/story.js", "chat: demo, everything, notes; 1 + 2 = 3\n"},
	} {
		t.Run(editor.folder, func(t *testing.T) {
			t.Parallel()
			s := newSignIn(t)
			if _, err := exec.LookPath(editor.program); err != nil {
				t.Fatalf("%v: .ci/run installs it", err) // WHARF_INTEROP says that all is there
			}
			folder := besideModules(t, os.Getenv("WHARF_INTEROP"), filepath.Join("..", "..", "examples", "editors", editor.folder))
			seen, said := s.playEditor(t, folder, editor.line)
			if want := editorStory + editor.ends; seen != want {
				t.Fatalf("it saw\n%s\nwant\n%s\nit said: %s", seen, want, said)
			}
			s.sees(t, "login", "consent")
			s.did(t, "register", "login", "consent", "authorization_code")
		})
	}
}

// What the example for VS Code is played with is what its package.json pins.
func TestInteropEditorLibrary(t *testing.T) {
	dir := os.Getenv("WHARF_INTEROP")
	if dir == "" {
		t.Skip("WHARF_INTEROP names no folder with servers")
	}
	var example struct{ Dependencies map[string]string }
	readJSON(t, filepath.Join("..", "..", "examples", "editors", "vscode", "package.json"), &example)
	var library struct{ Version string }
	readJSON(t, filepath.Join(dir, "node_modules", "vscode-jsonrpc", "package.json"), &library)
	if pinned := example.Dependencies["vscode-jsonrpc"]; pinned != library.Version {
		t.Errorf("package.json pins %q, and %q is there", pinned, library.Version)
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// playEditor runs a line of the shell in a folder with the story of an editor, and returns what the
// editor has seen, and what it has printed.
func (s *signIn) playEditor(t *testing.T, folder, line string) (seen, said string) {
	t.Helper()
	u := newUser(t)
	killed, saw := filepath.Join(u.folder, "killed"), filepath.Join(u.folder, "saw")
	everything := filepath.Join(absolute(t, os.Getenv("WHARF_INTEROP")), "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	text := strings.NewReplacer("KILLED", strconv.Quote(killed), "EVERYTHING", strconv.Quote(everything), "MCP", strconv.Quote(s.MCP)).Replace(editorConfig)
	if err := os.WriteFile(u.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // an editor that waits for ever
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", "exec env "+line)
	cmd.Dir, cmd.Env = folder, append(append(u.env, s.person...), "KILLED="+killed, "SEEN="+saw)
	cmd.WaitDelay = time.Second // what it has started may hold the pipe
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
	lines, _ := os.ReadFile(saw) // an editor that has failed at once has seen nothing
	return string(lines), string(out)
}
