package main

import (
	"bufio"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/internal/oauthtest"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// TestInteropCorp runs testdata/corp: a client of the official SDK, which only knows how to start a
// program, reaches a server behind a transport and a sign-in that are plugins. The server is on the
// official SDK too, behind WebSocket by the library ws. A company's own sign-in stands before it:
// /sso gives a token to who knows the secret, and without that token nothing is upgraded. See
// TestInterop for what it wants.
func TestInteropCorp(t *testing.T) {
	dir := os.Getenv("WHARF_INTEROP")
	if dir == "" {
		t.Skip("WHARF_INTEROP names no folder with servers")
	}
	scripts := besideModules(t, dir, filepath.Join("testdata", "bridge"))
	target := &url.URL{Scheme: "http", Host: startWebSocket(t, scripts)}
	behind := httputil.NewSingleHostReverseProxy(target)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/sso" && r.FormValue("client_secret") == protectedSecret:
			oauthtest.Reply(w, 200, map[string]any{"access_token": protectedToken, "token_type": "Bearer", "expires_in": 3600})
		case r.Header.Get("Authorization") != "Bearer "+protectedToken:
			http.Error(w, "who are you?", http.StatusUnauthorized)
		default:
			behind.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	file := filepath.Join(t.TempDir(), "wharf.toml")
	text := strings.NewReplacer("HOST", strings.TrimPrefix(s.URL, "http://"), "WEBSOCKET", testenv.Plugin(t, "../../examples/transport-"+"websocket"),
		"SSO_WASM", absolute(t, "../../examples/auth-corp-sso/corp-sso.wasm")).Replace(corpConfig)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	runScripts(t, filepath.Join("testdata", "corp"), []string{"BRIDGE=" + scripts, "CONFIG=" + file, "SSO_SECRET=" + protectedSecret})
}

// startWebSocket starts the legacy server of the scripts behind WebSocket, and returns where it
// listens. It ends with the test.
func startWebSocket(t *testing.T, scripts string) string {
	t.Helper()
	cmd := exec.Command("node", filepath.Join(scripts, "websocket.mjs"), "node", filepath.Join(scripts, "legacy-server.mjs"))
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

const corpConfig = `
[plugins.websocket]
file = "WEBSOCKET"

[plugins.corp-sso]
file    = "SSO_WASM"
origins = ["http://HOST"]

[servers.crm]
transport = "websocket"
url       = "ws://HOST/message"
auth      = { provider = "corp-sso", url = "http://HOST/sso", client_id = "wharf", client_secret = { env = "SSO_SECRET" } }
`
