package main

import (
	"net/http"
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
	resource := oauthtest.NewResource(t.Cleanup, issuer, handler)
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
	if n := len(issuer.Requests("/register")) + len(issuer.Requests("/authorize")); n != 0 {
		t.Errorf("%d requests for a person", n)
	}
}
