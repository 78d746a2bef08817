package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/listener"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/internal/certtest"
	"github.com/wharf-mcp/wharf/internal/oauthtest"
)

// inbox keeps all that was sent to a server.
type inbox struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// keep keeps a request before next has it.
func (l *inbox) keep(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		l.mu.Lock()
		fmt.Fprintf(&l.text, "%s %s\n%q\n%s\n", r.Method, r.RequestURI, r.Header, body)
		l.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

func (l *inbox) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// S5: what a client has proven itself with reaches no server, and is in no trace, log or record. S4: clients
// of both eras come with tokens of an issuer, and call what the rules allow its principal.
func TestS5NoTokenIsPassedOn(t *testing.T) {
	t.Parallel()
	issuer := oauthtest.New(t.Cleanup)
	issuer.Sign()
	server := sdk.NewServer(&sdk.Implementation{Name: "far", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "echo"}, echo)
	sdk.AddTool(server, &sdk.Tool{Name: "delete"}, echo)
	var upstream, spans inbox
	far := httptest.NewServer(upstream.keep(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)))
	t.Cleanup(far.Close)
	receiver := httptest.NewServer(spans.keep(http.NotFoundHandler()))
	t.Cleanup(receiver.Close)
	ca, dir := certtest.New(), t.TempDir()
	certtest.WriteTo(dir, "server", ca.IssueLocal())
	at := func(name string) string { return filepath.Join(dir, name) }
	text := fmt.Sprintf(`
		[serve]
		hosts = ["localhost"]
		tls   = { cert = "server.pem", key = "server.key" }
		oauth = { resource = "https://mcp.example.com", issuer = %q }
		[access.ann]
		match = ["principal:ann"]
		allow = ["far/echo"]
		[audit]
		args = "full"
		[servers.far]
		url = %q`, issuer.URL, far.URL+"/mcp")
	if err := os.WriteFile(at("wharf.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, (*exec.Cmd).StdoutPipe, "sh", "-c", `WHARF_TRACE=rpc,abi,io OTEL_EXPORTER_OTLP_ENDPOINT="$1" exec wharf serve --config "$0/wharf.toml" --http 0 --record "$0/record" 2>"$0/stderr"`, dir, receiver.URL)
	var list []served
	if line := p.await("far"); json.Unmarshal([]byte(line), &list) != nil || list[0].URL != "https://mcp.example.com/mcp" || !strings.HasPrefix(list[2].URL, "https://127.0.0.1:") {
		t.Fatal(line)
	}
	here := list[2].URL
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"}}}
	defer client.CloseIdleConnections()
	ask := func(token, body string, headers ...string) (int, http.Header, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, here+"?access_token="+token, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token, "Cookie": "token=" + token, "X-Api-Key": token} {
			r.Header.Set(name, value)
		}
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		got, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, answer.Header, string(got)
	}
	mint := func(changes map[string]any) string {
		return issuer.Mint(map[string]any{"alg": "ES256", "kid": oauthtest.ECKey}, issuer.Claims("https://mcp.example.com/mcp", changes), nil)
	}
	ann, eve := mint(nil), mint(map[string]any{"sub": "eve"})
	modern := func(token, tool string) string {
		_, _, got := ask(token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"`+mcp.LatestModern+`","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`,
			"Mcp-Protocol-Version", mcp.LatestModern, "Mcp-Method", mcp.MethodCallTool, "Mcp-Name", tool)
		return got
	}
	if got := modern(ann, "far__echo"); !strings.Contains(got, `"result":{`) {
		t.Errorf("ann got %s", got)
	}
	for _, denied := range []string{modern(ann, "far__delete"), modern(eve, "far__echo")} {
		if !strings.Contains(denied, "may not call") {
			t.Errorf("denied: %s", denied)
		}
	}
	_, head, got := ask(ann, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	session := head.Get("Mcp-Session-Id")
	if session == "" {
		t.Fatalf("initialize: %s", got)
	}
	if _, _, got := ask(ann, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"far__echo","arguments":{}}}`, "Mcp-Session-Id", session); !strings.Contains(got, `"result":{`) {
		t.Errorf("ann got %s", got)
	}
	// S7: a session is that of its principal.
	if status, _, got := ask(eve, `{"jsonrpc":"2.0","id":3,"method":"ping"}`, "Mcp-Session-Id", session); status != http.StatusNotFound {
		t.Errorf("eve in the session of ann: %d %s", status, got)
	}
	bad := mint(map[string]any{"aud": "https://other.example"})
	if status, head, _ := ask(bad, `{}`); status != http.StatusUnauthorized || !strings.Contains(head.Get("WWW-Authenticate"), `resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource/mcp"`) {
		t.Errorf("a foreign token: %d %v", status, head)
	}
	p.interrupt()
	p.wantExit(exit.CodeInterrupted)

	where := map[string]string{"the server": upstream.String(), "the receiver of spans": spans.String()}
	for _, file := range []string{"stderr", "audit.jsonl", "record"} {
		data, err := os.ReadFile(at(file))
		if err != nil {
			t.Fatal(err)
		}
		where[file] = string(data)
	}
	for name, text := range where {
		if text == "" {
			t.Errorf("%s got nothing", name)
		}
		for _, token := range []string{ann, eve, bad} {
			for _, part := range strings.Split(token, ".")[1:] {
				if strings.Contains(text, part) {
					t.Errorf("%s has a part of a token", name)
				}
			}
		}
	}
	if strings.Contains(where["the server"], "Authorization") || strings.Contains(where["the server"], "Cookie") {
		t.Errorf("the server got %s", where["the server"])
	}
	if !strings.Contains(where["audit.jsonl"], `"principal":"ann"`) {
		t.Errorf("the audit has no principal: %s", where["audit.jsonl"])
	}
}

// What is printed first is where a client can sign in, and that a certificate is needed is said.
func TestServedURLs(t *testing.T) {
	const here, far = "127.0.0.1:7777", "https://mcp.example.com"
	for _, tt := range []struct {
		e    entrance
		want string
	}{
		{entrance{}, "http://127.0.0.1:7777/mcp"},
		{entrance{tls: &tls.Config{}}, "https://127.0.0.1:7777/mcp"},
		{entrance{resource: far}, far + "/mcp http://127.0.0.1:7777/mcp"},
		{entrance{resource: far + "/one/"}, far + "/one/mcp http://127.0.0.1:7777/mcp"},
		{entrance{resource: "http://127.0.0.1:7777"}, "http://127.0.0.1:7777/mcp"},
		{entrance{resource: far, elsewhere: true, hosts: []string{"mcp.example.com"}, tls: &tls.Config{}}, far + "/mcp"},
		{entrance{elsewhere: true, hosts: []string{"::1"}, tls: &tls.Config{}}, "https://[::1]:7777/mcp"},
	} {
		var got []string
		for _, u := range tt.e.urls(here) {
			got = append(got, u.String())
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v: %q; want %q", tt.e, got, tt.want)
		}
	}
	for authority, want := range map[string]bool{"/etc/ca.pem": true, "": false} {
		var out, said bytes.Buffer
		a := &app{Terminal: &term.Terminal{Out: &out, Err: &said}}
		a.flags.output = formatText
		err := a.tellServed(listener.Set{}, entrance{token: "/run/token", authority: authority}, nil)
		if got := strings.Contains(said.String(), "Certificate: each client needs one that is signed by /etc/ca.pem\n"); err != nil || got != want {
			t.Errorf("%q: %q, %v", authority, said.String(), err)
		}
	}
}
