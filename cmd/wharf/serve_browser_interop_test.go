package main

import (
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
)

// rebindingPage tries what a page can try, and leaves what it got in its text.
const rebindingPage = `<!doctype html><meta charset="utf-8"><body><script>
const token = TOKEN;
const call = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'page', version: '1' } } });
const json = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
const tries = {
  'without the token': ['/mcp', { method: 'POST', headers: json, body: call }],
  'with the token': ['/mcp', { method: 'POST', headers: { ...json, Authorization: 'Bearer ' + token }, body: call }],
  'as a form': ['/mcp', { method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: call }],
  'one server': ['/mcp/ledger', { method: 'POST', headers: { ...json, Authorization: 'Bearer ' + token }, body: call }],
  'metrics': ['/metrics', { headers: { Authorization: 'Bearer ' + token } }],
  'health': ['/health', {}],
  'ready': ['/ready', {}],
};
const got = {};
(async () => {
  for (const [name, [path, how]] of Object.entries(tries)) {
    try {
      const answer = await fetch(BASE + path, how);
      got[name] = answer.status + ' ' + (await answer.text()).slice(0, 300);
    } catch (e) {
      got[name] = 'failed';
    }
  }
  document.body.textContent = 'GOT' + JSON.stringify(got) + 'TOG';
})();
</script>`

// browse has Chromium open a page at a host name that leads to this machine, and returns what the page got.
func browse(t *testing.T, chromium, page string) (got map[string]string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--user-data-dir="+t.TempDir(), "--host-resolver-rules=MAP rebind.example 127.0.0.1",
		"--virtual-time-budget=30000", "--timeout=60000", "--dump-dom", page)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(out), "GOT")
	text, _, _ = strings.Cut(text, "TOG")
	if err := json.Unmarshal([]byte(html.UnescapeString(text)), &got); err != nil {
		t.Fatalf("%s: %v: %s", page, err, out)
	}
	return got
}

// S3: a browser that was led to this machine by the name of a page, or that has a page of elsewhere, reaches
// nothing, even if the page knew the token. A page of this machine with the token does, which shows that
// the page tries in earnest. It wants what [TestInterop] wants, and Chromium.
func TestInteropS3RebindingBrowser(t *testing.T) {
	if os.Getenv("WHARF_INTEROP") == "" {
		t.Skip("WHARF_INTEROP names no folder with servers")
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v: .ci/run installs it", err)
	}
	dir := t.TempDir()
	config, notes := filepath.Join(dir, "wharf.toml"), filepath.Join(dir, "notes")
	if err := os.WriteFile(config, []byte("[servers.ledger]\ncommand = \"server-ledger\"\nargs = ["+strconv.Quote(notes)+"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, (*exec.Cmd).StdoutPipe, "wharf", "serve", "--http", "0", "--metrics", "--config", config)
	var list []served
	if line := p.await("ledger"); json.Unmarshal([]byte(line), &list) != nil {
		t.Fatal(line)
	}
	token, err := os.ReadFile(list[0].Token)
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := url.Parse(list[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	// The name led to the page first, and leads to the gateway now, at the same port: what is at /page is from before.
	behind := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: gateway.Host})
		r.Out.Host = r.In.Host
	}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/page" {
			behind.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(strings.NewReplacer("TOKEN", strconv.Quote(strings.TrimSpace(string(token))), "BASE", strconv.Quote(r.URL.Query().Get("base"))).Replace(rebindingPage)))
	}))
	defer front.Close()
	at, err := url.Parse(front.URL)
	if err != nil {
		t.Fatal(err)
	}
	own := browse(t, chromium, "http://localhost:"+at.Port()+"/page")
	for name, want := range map[string]string{"with the token": `200 {`, "metrics": "200 #", "health": "200", "without the token": "401"} {
		if !strings.HasPrefix(own[name], want) {
			t.Errorf("a page of this machine, %s: %q", name, own[name])
		}
	}
	rebound := browse(t, chromium, "http://rebind.example:"+at.Port()+"/page")
	elsewhere := browse(t, chromium, "http://rebind.example:"+at.Port()+"/page?base="+url.QueryEscape("http://"+gateway.Host))
	if len(rebound) != len(own) || len(elsewhere) != len(own) {
		t.Errorf("%v, %v", rebound, elsewhere)
	}
	for name := range own {
		if !strings.HasPrefix(rebound[name], "403 ") || strings.Contains(rebound[name], "wharf_") || strings.Contains(rebound[name], "result") {
			t.Errorf("under another name, %s: %q", name, rebound[name])
		}
		if elsewhere[name] != "failed" {
			t.Errorf("from elsewhere, %s: %q", name, elsewhere[name])
		}
	}
	p.interrupt()
	p.wantExit(exit.CodeInterrupted)
}
