package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestInterop runs testdata/interop against servers as people use them. It
// wants a folder with a node_modules in it, which holds servers and clients, and
// node in the PATH:
//
//	npm install --prefix servers PACKAGE…
//	WHARF_INTEROP=$PWD/servers go test -run Interop ./cmd/wharf
//
// The packages are those of .ci/run.
func TestInterop(t *testing.T) {
	dir := os.Getenv("WHARF_INTEROP")
	if dir == "" {
		t.Skip("WHARF_INTEROP names no folder with servers")
	}
	servers, err := filepath.Abs(filepath.Join(dir, "node_modules", "@modelcontextprotocol"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(servers); err != nil {
		t.Fatal(err)
	}
	everything := filepath.Join(servers, "server-everything", "dist", "index.js")
	stateless := &mcp.StreamableHTTPOptions{Stateless: true}
	runScripts(t, filepath.Join("testdata", "interop"), []string{
		"SERVERS=" + servers,
		"NODE=" + packagedNode(t, dir),
		"INSPECTOR=" + filepath.Join(servers, "inspector", "clients", "launcher", "build", "index.js"),
		"MCPORTER=" + filepath.Join(servers, "..", "mcporter", "dist", "cli.js"),
		"BRIDGE=" + besideModules(t, dir, filepath.Join("testdata", "bridge")),
		"EVERYTHING_HTTP=" + startNode(t, everything, "streamableHttp") + "/mcp",
		"EVERYTHING_SSE=" + startNode(t, everything, "sse") + "/sse",
		"GO_STATEFUL=" + listen(t, "tcp", "127.0.0.1:0", nil),
		"GO_STATELESS=" + listen(t, "tcp", "127.0.0.1:0", stateless),
		"GO_UNIX=" + listen(t, "unix", filepath.Join(t.TempDir(), "mcp.sock"), nil) + "#/mcp",
	})
}

// packagedNode returns the path of node that a folder has as a package: some want a newer one than
// others.
func packagedNode(t *testing.T, dir string) string {
	t.Helper()
	nodes, err := filepath.Glob(filepath.Join(dir, "node_modules", "node-*", "bin", "node"))
	if err != nil || len(nodes) != 1 {
		t.Fatalf("%s has not one package of node: %q, %v", dir, nodes, err)
	}
	return nodes[0]
}

// serveHTTP starts `wharf serve` with a configuration, and sets GATEWAY to where all servers are one,
// and TOKEN to what clients send: serve FILE. It ends with the script.
func serveHTTP(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: serve FILE")
	}
	cmd := exec.Command("wharf", "serve", "--http", "0", "--config", ts.MkAbs(args[0]))
	cmd.Env = os.Environ()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "PATH", "BRIDGE"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
	var all []served
	ts.Check(json.NewDecoder(stdout).Decode(&all))
	token, err := os.ReadFile(all[0].Token)
	ts.Check(err)
	ts.Setenv("GATEWAY", all[0].URL)
	ts.Setenv("TOKEN", strings.TrimSpace(string(token)))
}

// besideModules copies scripts to a new folder below that with the node_modules which they import.
func besideModules(t *testing.T, dir, scripts string) string {
	t.Helper()
	copied, err := os.MkdirTemp(dir, "scripts")
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(copied) })
		err = os.CopyFS(copied, os.DirFS(scripts))
	}
	if err != nil {
		t.Fatal(err)
	}
	copied, err = filepath.Abs(copied)
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

// startNode starts a server on a free port and returns its URL when it listens. A port
// that another program took before the server could is no reason not to try another. The
// server ends with the test.
func startNode(t *testing.T, script, mode string) string {
	t.Helper()
	for range 5 {
		if url, listens := tryNode(t, script, mode); listens {
			return url
		}
	}
	t.Fatalf("%s %s does not listen", script, mode)
	return ""
}

// tryNode is one try of startNode. A server says on its stderr that it listens, or
// ends.
func tryNode(t *testing.T, script, mode string) (url string, listens bool) {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	cmd := exec.Command("node", script, mode)
	cmd.Env = append(os.Environ(), "PORT="+port)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for !listens && lines.Scan() {
		listens = strings.Contains(lines.Text(), "port "+port)
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		io.Copy(io.Discard, stderr)
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-drained
		cmd.Wait()
	})
	return "http://localhost:" + port, listens
}

// listen serves the demo tools with the official Go SDK over Streamable HTTP and
// returns the URL.
func listen(t *testing.T, network, address string, o *mcp.StreamableHTTPOptions) string {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "go", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Say a message back."}, echo)
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Add two numbers."}, add)
	server := httptest.NewUnstartedServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, o))
	server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		for session := range s.Sessions() {
			session.Close()
		}
	})
	if network == "unix" {
		return "unix://" + address
	}
	return "http://" + l.Addr().String()
}
