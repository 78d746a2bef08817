package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// guarded is a server that wants a token, whichever is the right one now.
type guarded struct {
	http.Handler
	token   atomic.Value // string
	refused atomic.Int32
}

func newGuarded(t *testing.T, token string) (g *guarded, url string) {
	g = &guarded{Handler: &site{}}
	g.token.Store(token)
	return g, serve(t, g)
}

func (g *guarded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+g.token.Load().(string) {
		g.refused.Add(1)
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		http.Error(w, "who are you with "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		return
	}
	g.Handler.ServeHTTP(w, r)
}

// signed returns an entry that signs in by a provider.
func signed(url, provider string, settings map[string]any) host.Server {
	return host.Server{Name: "guarded", URL: url, Auth: config.Auth{Provider: provider, Settings: settings}}
}

func TestBearer(t *testing.T) {
	g, url := newGuarded(t, "s3cr3t")
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("s3cr3t\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GUARDED_TOKEN", "s3cr3t")
	dir := vaultDir(t)
	h := newHost(t, host.Config{Plugins: plugins.Builtin(), VaultDir: dir})
	if err := vault.Open(vault.Config{Dir: dir}).StoreSecret(t.Context(), "mine", "s3cr3t"); err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]any{
		"text": "s3cr3t", "env": config.Reference{Env: "GUARDED_TOKEN"},
		"file": config.Reference{File: file}, "secret": config.Reference{Secret: "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			say(t, connect(t, h, signed(url, "bearer", map[string]any{"token": token})))
		})
	}
	if n := g.refused.Load(); n != 0 {
		t.Errorf("%d requests went out without the token", n)
	}
}

// A token that is not taken is an error, and never a reason to try something
// else. What the server makes of it is told without the token.
func TestBearerThatIsRefused(t *testing.T) {
	g, url := newGuarded(t, "another")
	h := newHost(t, host.Config{Plugins: plugins.Builtin()})
	_, err := h.Connect(t.Context(), signed(url, "bearer", map[string]any{"token": "wrong-canary"}))
	if !errors.Is(err, host.ErrAuthRequired) || strings.Contains(err.Error()+host.Hint(err), "canary") {
		t.Errorf("error %v, hint %q", err, host.Hint(err))
	}
	if n := g.refused.Load(); n > 2 {
		t.Errorf("asked %d times", n)
	}
}

func TestSettingsOfAProvider(t *testing.T) {
	h := newHost(t, host.Config{Plugins: plugins.Builtin()})
	_, url := newGuarded(t, "x")
	tests := []struct {
		entry host.Server
		want  string
	}{
		{signed(url, "bearer", nil), "auth.token is missing"},
		{signed(url, "bearer", map[string]any{"tokn": "x", "token": "y"}), "there is no such key"},
		{signed(url, "bearer", map[string]any{"token": config.Reference{Env: "NOT_SET_ANYWHERE"}}), "NOT_SET_ANYWHERE is not set"},
		{signed(url, "bearer", map[string]any{"token": config.Reference{Secret: "s"}}), "there is no vault"},
		{signed(url, "nobody", nil), `no auth provider is called "nobody"`},
	}
	for _, test := range tests {
		if _, err := h.Connect(t.Context(), test.entry); !errors.Is(err, host.ErrConfig) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("error %v, want one of the configuration with %q", err, test.want)
		}
	}
}

// No provider is suggested that the program does not have.
func TestProviderThatIsNotThere(t *testing.T) {
	_, url := newGuarded(t, "x")
	few := plugins.Builtin()
	delete(few, "oauth")
	h := newHost(t, host.Config{Plugins: few})
	for name, want := range map[string]string{"oauth": "[plugins.oauth]", "oath": "[plugins.oath]", "bearre": `provider = "bearer"`} {
		if _, err := h.Connect(t.Context(), signed(url, name, nil)); !strings.Contains(host.Hint(err), want) {
			t.Errorf("%v, with the hint %q, want one of %q", err, host.Hint(err), want)
		}
	}
}

// A header that the helper does not print is that of the entry.
func TestHelperBesideHeaders(t *testing.T) {
	_, url := newGuarded(t, "static")
	entry := signed(url, "helper", nil)
	entry.Auth.Command, entry.Headers = []string{"echo", `{"X-Other": "1"}`}, map[string]string{"Authorization": "Bearer static"}
	say(t, connect(t, newHost(t, host.Config{Plugins: plugins.Builtin()}), entry))
}

// The helper is run again when the server refuses what it printed, once for all
// who are refused. What it prints takes the place of a header of the entry.
func TestHelper(t *testing.T) {
	dir := t.TempDir()
	runs, token := filepath.Join(dir, "runs"), filepath.Join(dir, "token")
	script := `echo run >>"` + runs + `"; printf '{"Authorization": "Bearer %s"}' "$(cat "` + token + `")"`
	g, url := newGuarded(t, "first")
	write(t, token, "first")
	entry := signed(url, "helper", nil)
	entry.Auth.Command, entry.Headers = []string{"/bin/sh", "-c", script}, map[string]string{"authorization": "Bearer stale"}
	h := newHost(t, host.Config{Plugins: plugins.Builtin()})
	s := connect(t, h, entry)
	say(t, s)
	write(t, token, "second")
	g.token.Store("second")
	var crowd sync.WaitGroup
	for range 8 {
		crowd.Go(func() { say(t, s) })
	}
	crowd.Wait()
	text, err := os.ReadFile(runs)
	if n := strings.Count(string(text), "run"); err != nil || n != 2 {
		t.Errorf("the helper ran %d times (%v)", n, err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// sso is a token endpoint.
func sso(t *testing.T, token func() string) (url string) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", mediaJSON)
		json.NewEncoder(w).Encode(map[string]any{"access_token": token(), "expires_in": 3600})
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// A stranger's provider, written in C: with its grant it signs in, without it it
// gets nowhere.
func TestStrangersProvider(t *testing.T) {
	const file = "../examples/auth-corp-sso/corp-sso.wasm"
	g, url := newGuarded(t, "corp-1")
	at := sso(t, func() string { return g.token.Load().(string) })
	settings := map[string]any{"url": at + "/token", "client_id": "wharf", "client_secret": "hush-canary"}
	plugin := config.Plugin{Name: "corp-sso", File: file, SHA256: hashOf(t, file)}
	entry := signed(url, "corp-sso", settings)

	h := newHost(t, host.Config{Plugins: plugins.Builtin(), VaultDir: vaultDir(t),
		Files: map[string]config.Plugin{"corp-sso": plugin}})
	_, err := h.Connect(t.Context(), entry)
	if !errors.Is(err, host.ErrAuthRequired) && !errors.Is(err, host.ErrDenied) || !strings.Contains(host.Hint(err), `origins = ["`+at+`"]`) {
		t.Errorf("without a grant: %v, hint %q", err, host.Hint(err))
	}

	plugin.Origins = []string{at}
	h = newHost(t, host.Config{Plugins: plugins.Builtin(), VaultDir: vaultDir(t),
		Files: map[string]config.Plugin{"corp-sso": plugin}})
	s := connect(t, h, entry)
	say(t, s)
	g.token.Store("corp-2")
	say(t, s)
}

// A server that nothing signs in to, and a person that cannot be asked.
func TestNoPersonToAsk(t *testing.T) {
	_, url := newGuarded(t, "x")
	h := newHost(t, host.Config{Plugins: plugins.Builtin()})
	entry := host.Server{Name: "guarded", URL: url, Auth: config.Auth{Provider: config.AuthNone}}
	if _, err := h.Connect(t.Context(), entry); !errors.Is(err, host.ErrAuthRequired) {
		t.Errorf("error %v", err)
	}
	if err := h.Login(context.Background(), entry); !errors.Is(err, host.ErrConfig) {
		t.Errorf("login: %v", err)
	}
	err := h.Login(context.Background(), host.Server{Name: "tool", Command: "true"})
	if !errors.Is(err, host.ErrConfig) || host.Hint(err) != "the keys and tokens that it wants go into env in its entry" {
		t.Errorf("login to a program: %v, hint: %s", err, host.Hint(err))
	}
	// A program can open a page, and not ask for the token that this server wants.
	h = newHost(t, host.Config{Plugins: plugins.Builtin(), VaultDir: vaultDir(t), Person: &signin.Person{
		OpenURL: func(context.Context, signin.Page) error { return nil },
	}})
	_, err = h.Connect(t.Context(), host.Server{Name: "guarded", URL: url})
	if !errors.Is(err, host.ErrAuthRequired) || host.Hint(err) != "sign in with: wharf login guarded" {
		t.Errorf("a person who can be shown pages alone: %v, hint: %s", err, host.Hint(err))
	}
}

// A server that refuses what it was sent is no server that nothing signs in to: the
// hint names what to change.
func TestRefusedCredentials(t *testing.T) {
	t.Parallel()
	_, url := newGuarded(t, "right")
	h := newHost(t, host.Config{Plugins: plugins.Builtin(), Files: pluginFile("corp", testenv.Plugin(t, providerPackage))})
	headers := host.Server{Name: "guarded", URL: url, Headers: map[string]string{"Authorization": "Bearer wrong"}}
	for want, entry := range map[string]host.Server{
		"look at auth in the entry of guarded, or sign in anew with: wharf login guarded": signed(url, "corp", map[string]any{"do": "same"}),
		"does not take the Authorization in the headers of guarded":                       headers,
	} {
		_, err := h.Connect(host.WithOptions(t.Context(), host.RequestOptions{Unattended: true}), entry)
		if !errors.Is(err, host.ErrAuthRequired) || !strings.Contains(host.Hint(err), want) {
			t.Errorf("%v (hint %q), want %q", err, host.Hint(err), want)
		}
	}
}

// vaultDir is a folder that is not there yet, as for a new user.
func vaultDir(t *testing.T) string { return filepath.Join(t.TempDir(), "vault") }
