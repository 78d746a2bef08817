package main

import (
	"bufio"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/internal/certtest"
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

// A server that cannot be reached is missing in the list of all servers, and the person is told why.
func TestServeTellsOfTrouble(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "wharf.toml")
	if err := os.WriteFile(file, []byte("[servers.gone]\ncommand = \"no-such-command\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var client io.WriteCloser
	p := start(t, func(cmd *exec.Cmd) (stderr io.ReadCloser, err error) {
		if client, err = cmd.StdinPipe(); err != nil {
			return nil, err
		}
		return cmd.StderrPipe()
	}, "wharf", "serve", "--config", file)
	fmt.Fprintln(client, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	fmt.Fprintln(client, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	fmt.Fprintln(client, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	if line := p.await("gone"); !strings.HasPrefix(line, "warning: gone: ") || !strings.Contains(line, `"no-such-command" not found in PATH; install it`) {
		t.Error(line)
	}
	client.Close()
	p.wantExit(exit.CodeOK)
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
	if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), "another program of yours serves clients at "+path) || !strings.Contains(string(out), "name another path") {
		t.Errorf("the second: %s, %v", out, err)
	}
	if !json.Valid(noPlace) {
		t.Errorf("a client too many is told %s", noPlace)
	}
	if _, err := io.WriteString(conn, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"demo__slow","arguments":{"seconds":2},"_meta":{"progressToken":"p"}}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := answers.ReadString('\n'); err != nil || !strings.Contains(line, `"progress":1`) {
		t.Fatalf("%q, %v; want progress", line, err)
	}
	p.signal(syscall.SIGTERM) // as managers of services send it: it has done what it should
	if rest, err := io.ReadAll(answers); err != nil || !strings.Contains(string(rest), `"text":"took 2 s"`) {
		t.Errorf("a call that was under way: %q, %v", rest, err)
	}
	p.wantExit(exit.CodeOK)
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is left behind")
	}
}

// Rules that are changed while clients are served hold at once, and clients whose lists they change are told.
func TestServeFollowsItsRules(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "sock") // of t.TempDir the path would be too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path, file := filepath.Join(dir, "wharf.sock"), filepath.Join(dir, "wharf.toml")
	write := func(rules string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("[servers.d]\ncommand = \"wharf\"\nargs = [\"demo-server\"]\n"+rules), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	p := start(t, (*exec.Cmd).StdoutPipe, "wharf", "--config", file, "serve", "--unix", path)
	p.await(path)
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	lines.Buffer(nil, 1<<20)
	hears := func(text string) string {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), text) {
				return lines.Text()
			}
		}
		t.Fatalf("the connection has ended before %s", text)
		return ""
	}
	io.WriteString(conn, greeting("d__add")+`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`+"\n")
	if got := hears(`"id":7`); !strings.Contains(got, `"d__add"`) {
		t.Error(got)
	}
	write("[access.all]\nmatch = [\"*\"]\ndeny = [\"d/add\"]\n")
	hears("notifications/tools/list_changed")
	io.WriteString(conn, `{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"d__add","arguments":{"a":1,"b":2}}}`+"\n")
	if got := hears(`"id":8`); !strings.Contains(got, "may not call") {
		t.Error(got)
	}
	p.signal(syscall.SIGTERM)
	p.wantExit(exit.CodeOK)
}

// A certificate that clients refuse is told of at the start.
func TestServeWithAnExpiredCertificate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	certtest.WriteTo(dir, "server", certtest.New().Issue(x509.Certificate{DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(-time.Minute)}))
	config := filepath.Join(dir, "serve.toml")
	if err := os.WriteFile(config, []byte("[serve]\ntls = { cert = \"server.pem\", key = \"server.key\" }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	p := start(t, func(c *exec.Cmd) (io.ReadCloser, error) {
		c.Stderr = &stderr
		return c.StdoutPipe()
	}, "wharf", "serve", "--config", config, "--http", "0")
	p.await("https://")
	p.interrupt()
	p.wantExit(exit.CodeInterrupted)
	if said := stderr.String(); strings.Count(said, "warning: [serve.tls] of "+config+": the certificate has expired at ") != 1 {
		t.Errorf("stderr %q", said)
	}
}

// S2: at an address that other machines can reach, clients come over TLS with a certificate, and may
// call what the rules allow their principal. The token of the user counts for nothing there.
func TestS2ServeToOtherMachines(t *testing.T) {
	t.Parallel()
	ca, dir := certtest.New(), t.TempDir()
	ca.WriteTo(dir)
	certtest.WriteTo(dir, "server", ca.IssueLocal())
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	config := write("serve.toml", `
		[serve]
		hosts = ["mcp.example.com"]
		tls   = { cert = "server.pem", key = "server.key", client_ca = "authority.pem" }
		[access.ci]
		match = ["principal:ci.example"]
		allow = ["demo/add"]`)
	p := start(t, (*exec.Cmd).StdoutPipe, "wharf", "serve", "--config", config, "--http", "0.0.0.0:0")
	var list []served
	if line := p.await("demo"); json.Unmarshal([]byte(line), &list) != nil || list[1].Token != "" || !strings.HasPrefix(list[1].URL, "https://mcp.example.com:") {
		t.Fatal(line)
	}
	at := strings.Replace(list[1].URL, "mcp.example.com", "localhost", 1)
	call := func(name, more string) string {
		certtest.WriteTo(dir, name, ca.Issue(x509.Certificate{DNSNames: []string{name}}))
		file := write(name+".toml", "[servers.far]\nurl = \""+at+"\"\n"+more+"\n")
		cmd := exec.CommandContext(t.Context(), "wharf", "call", "--config", file, "far", "add", "a=1", "b=2")
		cmd.Env = p.Env
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	with := `tls = { ca = "authority.pem", cert = "%s.pem", key = "%[1]s.key" }`
	for name, want := range map[string]string{"ci.example": `"sum":`, "bob.example": "may not call"} {
		if out := call(name, fmt.Sprintf(with, name)); !strings.Contains(out, want) {
			t.Errorf("%s: %s", name, out)
		}
	}
	if out := call("none", `tls = { ca = "authority.pem" }`); strings.Contains(out, `"sum"`) || !strings.HasPrefix(out, "error: connect far") {
		t.Errorf("without a certificate: %s", out)
	}
	p.interrupt()
	p.wantExit(exit.CodeInterrupted)
}
