package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// A server is reached over HTTP with the token that the user alone can read, and not without.
func TestServeOverHTTP(t *testing.T) {
	t.Parallel()
	p := start(t, (*exec.Cmd).StdoutPipe, "wharf", "serve", "--http", "0")
	var list []served
	if line := p.await("demo"); json.Unmarshal([]byte(line), &list) != nil || len(list) != 2 || list[1].Name != demoName {
		t.Fatal(line)
	}
	token, err := os.ReadFile(list[1].Token)
	if err != nil {
		t.Fatal(err)
	}
	call := func(token string) string {
		file := filepath.Join(t.TempDir(), "wharf.toml")
		text := "[servers.far]\nurl = \"" + list[1].URL + "\"\nheaders = { Authorization = \"Bearer " + token + "\" }\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "wharf", "call", "--config", file, "far", "add", "a=1", "b=2")
		cmd.Env = p.Env
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	if out := call(strings.TrimSpace(string(token))); !strings.Contains(out, `"sum": 3`) && !strings.Contains(out, `"sum":3`) {
		t.Errorf("with the token: %s", out)
	}
	if out := call("other"); !strings.Contains(out, "sign-in") && !strings.Contains(out, "401") {
		t.Errorf("with another: %s", out)
	}
	p.interrupt()
	p.wantExit(exit.CodeInterrupted)
}
