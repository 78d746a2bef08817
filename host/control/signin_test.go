package control

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/host"
)

// An editor hears that a server needs a sign-in, signs in, and uses it.
func TestSignIn(t *testing.T) {
	var s *scene
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cr3t" {
			w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.server() }, &sdk.StreamableHTTPOptions{Stateless: true}).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	s = newScene(t, func(c *Control, h *host.Config) {
		h.VaultDir = filepath.Join(t.TempDir(), "vault")
		c.kept = keptBy(h)
		c.config.Source = &Source{Read: func() (*Configuration, error) {
			return &Configuration{Plugins: h.Files, Reconnect: h.Reconnect, Servers: []host.Server{
				{Name: "guarded", URL: server.URL, Transport: "http"},
			}}, nil
		}}
	})
	c := s.ready(all)
	c.call("events/since", `{}`)
	id := c.begin("tools/list", `{"server":"guarded"}`)
	c.reply(c.asked("prompt"), `{"action":"cancel"}`)
	refused := c.answer(id)
	c.wantRefused(KindSignIn, refused)
	if hint := refused.Error.Data.Hint; !strings.Contains(hint, "call auth/login, or sign in with: wharf login guarded") {
		t.Errorf("the hint is %q", hint)
	}
	if e := c.event(SignInNeeded, ""); e.Server != "guarded" {
		t.Errorf("%+v", e)
	}
	id = c.begin("auth/login", `{"server":"guarded"}`)
	m := c.asked("prompt")
	c.wantHas(string(m.Params), `"server":"guarded"`, `"secret":true`)
	c.reply(m, `{"action":"accept","text":"wrong"}`)
	c.wantRefused(KindSignIn, c.answer(id))
	id = c.begin("auth/login", `{"server":"guarded"}`)
	m = c.asked("prompt")
	c.reply(m, `{"action":"accept","text":"s3cr3t"}`)
	if m := c.answer(id); m.Error != nil {
		t.Errorf("%+v", m.Error)
	}
	c.wantHas(c.call("tools/list", `{"server":"guarded"}`), `"echo"`)
	c.wantHas(c.call("auth/status", `{}`), `"provider":"oauth"`)
	c.call("auth/logout", `{"server":"guarded"}`)
}
