package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// A server is reached over HTTP with the token that the user alone can read, and not without.
func TestServeOverHTTP(t *testing.T) {
	t.Parallel()
	p := start(t, (*exec.Cmd).StdoutPipe, "wharf", "serve", "--http", "0")
	var list []served
	line := p.await("demo")
	if json.Unmarshal([]byte(line), &list) != nil || len(list) != 2 || list[1].Name != demoName {
		t.Fatal(line)
	}
	if err := conforms(line, "wharf serve --http, serve --unix"); err != nil {
		t.Error(err)
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

// A client on the socket reaches all servers as one, and another start at that socket is refused.
func TestServeOnASocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "sock") // of t.TempDir the path would be too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "wharf.sock")
	p := start(t, (*exec.Cmd).StdoutPipe, "wharf", "serve", "--unix", path, "--http", "0")
	if line := p.await("demo"); !strings.Contains(line, `{"socket":"`+path+`"}`) || !strings.Contains(line, `/mcp/demo"`) {
		t.Fatal(line)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, greeting("demo__add")); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(conn)
	for _, want := range []string{`"serverInfo":{"name":"wharf"`, `"sum":3`} {
		if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, want) {
			t.Errorf("%q, %v; want %s", line, err, want)
		}
	}
	second := exec.CommandContext(t.Context(), "wharf", "serve", "--unix="+path)
	second.Env = p.Env
	if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), "another program of yours serves clients at "+path) {
		t.Errorf("the second: %s, %v", out, err)
	}
	if !json.Valid(noPlace) {
		t.Errorf("a client too many is told %s", noPlace)
	}
	p.signal(syscall.SIGTERM) // as managers of services send it: it has done what it should
	p.wantExit(exit.CodeOK)
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is left behind")
	}
}
