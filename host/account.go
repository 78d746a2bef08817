package host

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"github.com/wharf-mcp/wharf/host/internal/egress"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/redact"
	"github.com/wharf-mcp/wharf/host/vault"
)

// providerOAuth is what signs in to a url whose entry says nothing about it.
const providerOAuth = "oauth"

// account is the sign-in to one server, for all sessions with it.
type account struct {
	*auth.Account
	server   Server
	recorded *redact.Set // gets what the sign-in gives
	fetch    *egress.Fetcher
	declined atomic.Bool   // the person said no, and is not asked again by itself
	turns    atomic.Uint64 // how often somebody signed in or out
}

// Apply is [auth.Account.Apply]. It also keeps the credentials out of what is recorded,
// except for a DPoP proof, which is of use for this one request.
func (a *account) Apply(ctx context.Context, r *httpclient.Request) ([]abi.Pair, error) {
	pairs, err := a.Account.Apply(ctx, r)
	for _, pair := range pairs {
		if pair.Key != "DPoP" {
			a.recorded.HideRecent(pair.Value)
		}
	}
	return pairs, err
}

// Material is [auth.Account.Material]. It also keeps the material out of what is recorded.
func (a *account) Material(ctx context.Context) (*auth.Material, error) {
	m, err := a.Account.Material(ctx)
	if m != nil {
		a.recorded.HideRecent(m.Blob.Reveal())
		for _, value := range m.Env {
			a.recorded.HideRecent(value.Reveal())
		}
	}
	return m, err
}

// providerOf returns the provider that signs in to a server, or "". By itself it
// is OAuth, if the url has no credentials in its headers: those stop the search,
// since a token that the user wrote down must not be replaced by another.
func (h *Host) providerOf(s Server) string {
	switch {
	case s.Auth.Provider == config.AuthNone:
		return ""
	case s.Auth.Provider != "":
		return s.Auth.Provider
	case s.URL == "" || strings.HasPrefix(s.URL, "unix:") || h.config.Plugins[providerOAuth] == nil:
		return ""
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return ""
		}
	}
	return providerOAuth
}

// account returns what signs in to a server, or nil.
func (h *Host) account(s Server) (*account, error) {
	s, err := h.admit(s)
	if err != nil {
		return nil, err
	}
	name := h.providerOf(s)
	if name == "" {
		return nil, nil
	}
	key, err := json.Marshal([]any{s.Name, s.URL, s.Proxy, s.TLS, s.Auth})
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	if a := h.accounts[string(key)]; a != nil {
		return a, nil
	}
	a, err := h.newAccount(name, s)
	if err != nil {
		return nil, err
	}
	h.accounts[string(key)] = a
	return a, nil
}

// newAccount joins a server to its provider. Nothing is loaded yet. The caller
// holds mu.
func (h *Host) newAccount(name string, s Server) (*account, error) {
	file := h.modules.Files()[name]
	fromFile := file.File != ""
	switch {
	case !fromFile && !h.modules.Builtin(name):
		return nil, h.unknownProvider(name)
	case file.Isolation == config.IsolationProcess:
		return nil, hosterr.Configf("plugin %s is an auth provider, which reaches nothing by itself; isolation is for transports", name)
	}
	// What is compiled in was chosen with the program: it calls what it finds, and
	// its servers share registrations. What is loaded from a file calls what its
	// entry grants, and shares nothing.
	reach := egress.Policy{Origins: file.Origins, Discover: file.Discover || !fromFile}
	c := auth.Config{
		Name: name,
		Lazy: s.Auth.IsZero(),
		Provider: func(ctx context.Context) (auth.Provider, error) {
			p, err := h.modules.Provider(ctx, name)
			if err != nil {
				return nil, err
			}
			return p.ForAccount(), nil // a Provider goes on with the plugin that it has had first
		},
		Warn:     warnOnce(func(text string) { h.warn(s.Name, text) }),
		Server:   step.Server{Name: s.Name, Variables: s.Auth.Variables, Blob: s.Auth.Blob},
		Settings: h.authSettings(s.Auth),
		Client:   step.Client{Name: h.config.Client.Name, Version: h.config.Client.Version},
		Grant:    auth.Grant{Variables: s.Auth.Variables, Blob: s.Auth.Blob, Registrations: !fromFile},
		Person:   h.person(),
		Listen:   listen,
	}
	owner := name
	if i := file.Installed; i != nil {
		c.Installed, owner = true, vault.Owner(name, i.Records)
	}
	if h.vault != nil {
		c.Vault = vault.Scope{Vault: h.vault, Owner: owner}
	}
	if s.URL != "" {
		o, err := origin(s)
		if err != nil {
			return nil, err
		}
		reach.Server = o
		c.Server.URL, c.Server.Resource = httpclient.HTTPURL(s.URL), o.Resource()
	}
	if len(s.Auth.Command) > 0 {
		c.Run = func(ctx context.Context) (*step.RunResult, error) { return runCommand(ctx, s.Auth) }
	}
	fetch, err := egress.NewFetcher(reach)
	if err != nil {
		return nil, hosterr.Configf("auth: %w", err)
	}
	c.Fetch = fetch
	return &account{Account: auth.NewAccount(c), server: s, recorded: h.secrets.recorded, fetch: fetch}, nil
}

// warnOnce passes on the first warning.
func warnOnce(warn func(string)) func(string) {
	var once sync.Once
	return func(text string) { once.Do(func() { warn(text) }) }
}

// runCommand runs the command of an auth table.
func runCommand(ctx context.Context, a config.Auth) (*step.RunResult, error) {
	p := process.Process{Command: a.Command[0], Args: a.Command[1:], Env: environ(a.Env)}
	out, err := p.Run(ctx)
	if err != nil {
		return nil, err
	}
	return &step.RunResult{Code: out.Code, Stdout: string(out.Stdout), Stderr: out.Stderr}, nil
}

func listen(ctx context.Context, l step.Listen) (auth.Callback, error) {
	c, err := egress.ListenCallback(ctx, l.Host, l.Port, l.Path)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// signedPath returns where on its origin a server is signed in to: its own path,
// and for HTTP+SSE, whose server names the path to send to, the folder of it.
func signedPath(o *httpclient.Origin, via string) string {
	if via != transportSSE {
		return ""
	}
	return strings.TrimSuffix(path.Dir(o.Path()), "/") + "/"
}

// closeAccounts ends what waits for a person, and lets what was begun be stored. No
// account is made any more.
func (h *Host) closeAccounts() error {
	h.mu.Lock()
	accounts := append(slices.Collect(maps.Values(h.accounts)), h.former...)
	h.mu.Unlock()
	for _, a := range accounts {
		a.Close()
		a.fetch.Close()
	}
	return nil
}

func (h *Host) unknownProvider(name string) error {
	return &hosterr.Error{
		Kind: ErrConfig,
		Err:  fmt.Errorf("no auth provider is called %q", name),
		Hint: fmt.Sprintf("to add one, write in your configuration:\n[plugins.%s]\nfile = \"path/to/%s.wasm\"", hosterr.TOMLKey(name), name),
	}
}
