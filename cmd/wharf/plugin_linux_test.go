package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

const installIt = "Install it? yes, [n]o: "

// atHome runs wharf on a terminal, for a user without any files.
func atHome(t *testing.T, home string, args ...string) *screen {
	t.Helper()
	s := newScreen(t, []string{"NO_COLOR=1", "HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=" + home}, "wharf", args...)
	s.start()
	return s
}

// What a person is asked about is shown before, whole, and it is no unless they
// say yes.
func TestTerminalAsksAboutAPlugin(t *testing.T) {
	home := t.TempDir()
	plugin, err := filepath.Abs("../../examples/transport-socket-c/socket.wasm")
	if err != nil {
		t.Fatal(err)
	}
	add := []string{"plugin", "add", plugin, "--name", "pigeon"}
	for _, answer := range []string{"\r", "n\r", "No\r", "\x04"} {
		s := atHome(t, home, add...)
		shown := s.await(installIt)
		for _, want := range []string{"pigeon is a transport plugin:\n│ source     ", "sha256     ", "signed by  no key", "asks for   stream: to connect to"} {
			if !strings.Contains(shown, want) {
				t.Errorf("%q lacks %q", shown, want)
			}
		}
		s.answer("", answer)
		s.ends(exit.CodeDenied, "you have not agreed to it")
	}
	if _, err := os.Stat(filepath.Join(home, "wharf", "plugins")); err == nil {
		t.Error("something was installed")
	}
	s := atHome(t, home, add...)
	s.answer(installIt, "yesterday\r") // which is neither
	s.answer(installIt, "yes\r")
	s.ends(exit.CodeOK, `server entries use it with transport = "pigeon"`)
	s = atHome(t, home, "plugin", "list")
	s.ends(exit.CodeOK, "pigeon  transport")
	s = atHome(t, home, "plugin", "remove", "pigeon")
	s.ends(exit.CodeOK, "pigeon is removed.")
	s = atHome(t, home, append(add, "--yes")...)
	s.ends(exit.CodeOK, "is installed")
}
