package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestTabAsksAServer completes values by asking a server at a url, which runs anyway. A
// process is not started for it, a project's server not connected, and one that does not
// answer leaves the word as it is.
func TestTabAsksAServer(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "names", Version: "1"}, demoOptions)
	addReading(t.Context(), server)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	var asked atomic.Int32
	var away atomic.Bool
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if away.Load() {
			http.Error(w, "gone", http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	dir, project := t.TempDir(), t.TempDir()
	config := fmt.Sprintf("[servers.web]\nurl = %q\n[servers.off]\nurl = %[1]q\ndisabled = true\n", s.URL)
	if err := os.MkdirAll(filepath.Join(dir, "wharf"), 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{filepath.Join(dir, "wharf", "wharf.toml"): config, filepath.Join(project, ".mcp.json"): fmt.Sprintf(`{"mcpServers":{"theirs":{"url":%q}}}`, s.URL)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wharf := func(args ...string) string {
		cmd := exec.Command("wharf", args...)
		cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "HOME="+dir)
		cmd.Dir = project
		out, _ := cmd.Output()
		return string(out)
	}
	for _, name := range []string{"web", "demo"} { // now their prompts are known
		wharf("prompts", name)
		wharf("resources", name)
	}
	for line, want := range map[string]string{
		"prompt web greet name=G":                      "name=Grace",
		"prompt web greet tone=warm name=Al":           "name=Alan",
		"read web demo://greeting/Ad":                  "demo://greeting/Ada",
		"complete web demo://greeting/{name} name=Gra": "name=Grace",
	} {
		if got := wharf(append([]string{"__complete"}, strings.Fields(line)...)...); !strings.HasPrefix(got, want+"\n") {
			t.Errorf("%s: %q", line, got)
		}
	}
	before := asked.Load()
	for _, line := range []string{"prompt demo greet name=G", "prompt off greet name=G", "prompt theirs greet name=G"} {
		if got := wharf(append([]string{"__complete"}, strings.Fields(line)...)...); strings.Contains(got, "Grace") {
			t.Errorf("%s: %q", line, got)
		}
	}
	if asked.Load() != before {
		t.Error("a server was connected that must not be")
	}
	trace := filepath.Join(dir, "trace")
	if wharf("--trace", trace, "__complete", "prompt", "web", "greet", "name=G"); asked.Load() == before {
		t.Error("the server was not asked")
	}
	if _, err := os.Stat(trace); err == nil {
		t.Error("a Tab wrote a trace")
	}
	away.Store(true)
	if got := wharf("__complete", "prompt", "web", "greet", "name=G"); got != ":4\n" {
		t.Errorf("a server that is gone: %q", got)
	}
}

// TestVariableAt finds the variable that an address ends in.
func TestVariableAt(t *testing.T) {
	for _, c := range []struct{ template, address, want string }{
		{"demo://greeting/{name}", "demo://greeting/", "name='' after demo://greeting/ map[]"},
		{"demo://greeting/{name}", "demo://greeting/A%20b", "name='A b' after demo://greeting/ map[]"},
		{"x://{a}/y/{b}", "x://1", "a='1' after x:// map[]"},
		{"x://{a}/y/{b}", "x://1/y/2", "b='2' after x://1/y/ map[a:1]"},
		{"x://{a}-{b}", "x://1-2", "b='2' after x://1- map[a:1]"},
		{"x://{a}{b}", "x://1", "a='1' after x:// map[]"},
		{"x://{a}.txt", "x://1.txt", ""},
		{"x://{a}", "x://1/2", ""},
		{"x://{a}", "x:", ""},
		{"x://{a}", "y://1", ""},
		{"x://{a}", "x://%zz", ""},
		{"x://{+a}", "x://1", ""},
		{"x://{?a}", "x://1", ""},
		{"x://{a", "x://1", ""},
		{"x://", "x://", ""},
	} {
		name, value, before, settled, found := variableAt(c.template, c.address)
		got := ""
		if found {
			got = fmt.Sprintf("%s='%s' after %s %v", name, value, before, settled)
		}
		if got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.address, c.template, got, c.want)
		}
	}
}
