package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/internal/oauthtest"
)

// A sign-in that needs no person needs no terminal either, and what is wrong with it is said.
func TestLoginWithoutATerminal(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	issuer := oauthtest.New(t.Cleanup)
	issuer.Answer("/token", func(w http.ResponseWriter, r *http.Request) {
		_, secret, _ := r.BasicAuth()
		switch {
		case r.FormValue("grant_type") == "urn:ietf:params:oauth:grant-type:token-exchange":
			oauthtest.Reply(w, 200, map[string]any{"access_token": "jag", "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag", "token_type": "N_A"})
		case secret != "good":
			oauthtest.Reply(w, 401, map[string]any{"error": "invalid_client"})
		default:
			oauthtest.Reply(w, 200, map[string]any{"access_token": "machine", "token_type": "Bearer", "expires_in": 3600})
		}
	})
	resource := oauthtest.NewResource(t.Cleanup, issuer, handler, func(p *oauthtest.Resource) {
		p.Refuse = func(token string, _ *http.Request) (int, string) {
			if token != "machine" {
				return http.StatusUnauthorized, "not with " + token
			}
			return 0, ""
		}
	})
	dir := t.TempDir()
	file := filepath.Join(dir, "wharf.toml")
	const secret = `client_id = "robot", client_secret = { env = "ROBOT" }`
	for _, c := range []struct {
		auth, secret string
		code         int
		says         string
	}{
		{`{ grant = "client_credentials", ` + secret + ` }`, "good", exit.CodeOK, "Signed in to robot.\n"},
		{`{ grant = "client_credentials", ` + secret + ` }`, "bad", exit.CodeSignIn, "it says invalid_client\nhint: see client_id, client_secret and private_key\n"},
		{`{ grant = "jwt_bearer", jwt = "a.b.c", ` + secret + ` }`, "good", exit.CodeOK, "Signed in to robot.\n"},
		{`{ grant = "enterprise", id_token = "a.b.c", idp_client_id = "idp", idp_token_endpoint = "` + issuer.URL + `/token", ` + secret + ` }`, "good", exit.CodeOK, "Signed in to robot.\n"},
		{`{ provider = "helper", command = ["echo", '{"headers":{"Authorization":"Bearer old"}}'] }`, "", exit.CodeSignIn, "does not take what the command printed"},
		{`{ scopes = ["read"] }`, "", exit.CodeSignIn, "sign in to robot: sign-in required: there is no terminal\nhint: run it on a terminal, or with --no-browser"},
	} {
		text := "[servers.robot]\nurl = \"" + resource.URL + "\"\nauth = " + c.auth + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("wharf", "login", "robot", "--config", file)
		cmd.Env = append(os.Environ(), "ROBOT="+c.secret, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "HOME="+dir, "BROWSER=false")
		said, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(said), c.says) {
			t.Errorf("%s: exit code %d, %v: %s", c.auth, code, err, said)
		}
	}
	away := httptest.NewServer(nil)
	away.Close()
	const helper = "[servers.gone]\nurl = %q\nauth = { provider = \"helper\", command = [\"echo\", '{\"headers\":{\"Authorization\":\"Bearer x\"}}'] }\n"
	if err := os.WriteFile(file, fmt.Appendf(nil, helper, away.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("wharf", "login", "gone", "--config", file)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "HOME="+dir)
	if said, err := cmd.CombinedOutput(); err != nil || !strings.HasPrefix(string(said), "warning: there are credentials for gone, and whether it takes them is not known: ") {
		t.Errorf("a server that is not reached: %v, %s", err, said)
	}
	if n := len(issuer.Requests("/register")) + len(issuer.Requests("/authorize")); n != 0 {
		t.Errorf("%d requests for a person", n)
	}
}

// The error of a call names the rights that the sign-in does not give, and its hint names a login, which asks for
// them. After the server has forgotten a sign-in, the error speaks of a sign-in and not of an API key.
func TestLoginGivesWhatIsMissing(t *testing.T) {
	t.Parallel()
	server := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo"}, echo)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	issuer := oauthtest.New(t.Cleanup)
	asked := func() string {
		pages := issuer.Requests("/authorize")
		return pages[len(pages)-1].Form.Get("scope")
	}
	var challenge string
	resource := oauthtest.NewResource(t.Cleanup, issuer, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil && bytes.Contains(body, []byte("tools/call")) && !strings.Contains(asked(), "write") {
			w.Header().Set("WWW-Authenticate", challenge)
			http.Error(w, "not you", http.StatusForbidden)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(w, r)
	}), func(p *oauthtest.Resource) {
		challenge = p.Challenge(`, error="insufficient_scope", scope="write"`)
		p.Metadata = func(m map[string]any) { m["scopes_supported"] = []string{"read"} }
	})
	dir := t.TempDir()
	run := func(want string, code int, args ...string) {
		t.Helper()
		cmd := exec.Command("wharf", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "HOME="+dir, "BROWSER=visits")
		said, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(string(said), want) {
			t.Fatalf("%s: exit code %d, %v:\n%s\nwant\n%s", args, got, err, said, want)
		}
	}
	run("Signed in to 127.0.0.1.\n", exit.CodeOK, "login", "--browser", resource.URL)
	run("error: the sign-in to 127.0.0.1 does not give the rights for this: write; there is no terminal to sign in at; it answered: not you\n"+
		"hint: sign in with these rights as well: wharf login "+resource.URL+"\n", exit.CodeSignIn, "call", resource.URL, "echo", "message=x")
	run("Signed in to 127.0.0.1.\n", exit.CodeOK, "login", "--browser", resource.URL)
	run("", exit.CodeOK, "call", resource.URL, "echo", "message=x")
	if asked() != "read write" {
		t.Errorf("the last sign-in asked for %q", asked())
	}
	issuer.Revoke()
	run("error: 127.0.0.1 no longer takes the sign-in that is saved for it; it answered: not with", exit.CodeSignIn, "tools", resource.URL)
	run("Signed in to 127.0.0.1.\n", exit.CodeOK, "login", "--browser", resource.URL)
	if asked() != "read write" {
		t.Errorf("the sign-in in place of the one that was lost asked for %q", asked())
	}
	issuer.Revoke()
	run("\nhint: sign in anew with: wharf login "+resource.URL+"\n", exit.CodeSignIn, "tools", resource.URL)
}

// A server that refuses what the person has just signed in for is told of: it is no success.
func TestLoginWhoseTokenIsRefused(t *testing.T) {
	t.Parallel()
	issuer := oauthtest.New(t.Cleanup)
	issuer.Metadata = func(m map[string]any) { m["device_authorization_endpoint"] = issuer.URL + "/code" }
	issuer.Answer("/code", func(w http.ResponseWriter, _ *http.Request) {
		oauthtest.Reply(w, 200, map[string]any{"device_code": "d", "user_code": "AB-CD", "verification_uri": issuer.URL + "/device", "interval": 1})
	})
	issuer.Answer("/token", func(w http.ResponseWriter, _ *http.Request) {
		oauthtest.Reply(w, 200, map[string]any{"access_token": "new", "token_type": "Bearer"})
	})
	resource := oauthtest.NewResource(t.Cleanup, issuer, http.NotFoundHandler(), func(p *oauthtest.Resource) {
		p.Refuse = func(string, *http.Request) (int, string) { return http.StatusUnauthorized, p.Challenge("") }
	})
	dir := t.TempDir()
	file := filepath.Join(dir, "wharf.toml")
	if err := os.WriteFile(file, []byte("[servers.x]\nurl = \""+resource.URL+"\"\nauth = { grant = \"device_code\" }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("wharf", "login", "x", "--no-browser", "--config", file)
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "HOME="+dir)
	said, err := cmd.CombinedOutput()
	const want = "the server x refuses the token that was just issued for it by "
	if err == nil || cmd.ProcessState.ExitCode() != exit.CodeSignIn || !strings.Contains(string(said), "AB-CD") || !strings.Contains(string(said), want) || strings.Contains(string(said), "Signed in") {
		t.Errorf("%v: %s, want %s", err, said, want)
	}
}
