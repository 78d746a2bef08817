package connect

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"github.com/wharf-mcp/wharf/host/internal/crash"
	"github.com/wharf-mcp/wharf/host/internal/egress"
	"github.com/wharf-mcp/wharf/host/internal/flowrecord"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/redact"
	"github.com/wharf-mcp/wharf/host/vault"
)

// Accounts holds the sign-ins of a host, keyed by everything that they depend on. All methods are
// safe for concurrent use.
type Accounts struct {
	Answers Answers // found before the secrets of the vault

	config  Config
	secrets redaction

	ending context.Context // ends when the accounts are closed
	end    context.CancelFunc

	mu       sync.Mutex
	closed   bool
	accounts map[string]*SharedAccount
	former   map[weak.Pointer[auth.Account]]*egress.Fetcher // accounts whose provider was replaced, until nothing uses them
}

// providerOAuth is the provider that signs in to a url if its entry says nothing about sign-in.
const providerOAuth = "oauth"

// SharedAccount is the sign-in to one server, shared by all sessions with it.
type SharedAccount struct {
	*auth.Account
	server   config.Server
	recorded *redact.Set // gets the credentials that the sign-in returns
	fetch    *egress.Fetcher
	helpers  *atomic.Int32 // runs of the command of the entry that have not ended
	Declined atomic.Bool   // the person said no; they are asked again only if they want to sign in
	Turns    atomic.Uint64 // counts sign-ins and sign-outs

	vault *vault.Vault // nil if the host has none
}

// SignInName names a server where the vault counts sign-ins. s is expanded.
func SignInName(s config.Server) string {
	return auth.BoundTo(&step.Server{Name: s.Name, URL: httpclient.HTTPURL(s.URL)})
}

// Count tells other programs, by the vault, that this one has signed in or out. A vault without a record stays as it is:
// no program has a sign-in from there.
func (a *SharedAccount) Count(ctx context.Context) error {
	if a.vault == nil {
		return nil
	}
	if saved, err := a.vault.List(ctx); err != nil || len(saved) == 0 {
		return err
	}
	return a.vault.CountSignIn(ctx, SignInName(a.server))
}

// Apply calls [auth.Account.Apply]. It also keeps the credentials out of recordings, except a DPoP
// proof, which is valid for this request only.
func (a *SharedAccount) Apply(ctx context.Context, r *httpclient.Request) ([]abi.Pair, error) {
	pairs, err := a.Account.Apply(ctx, r)
	for _, pair := range pairs {
		if pair.Key != "DPoP" {
			a.recorded.HideRecent(pair.Value)
		}
	}
	return pairs, err
}

// Material calls [auth.Account.Material]. It also keeps the material out of recordings.
func (a *SharedAccount) Material(ctx context.Context) (*auth.Material, error) {
	m, err := a.Account.Material(ctx)
	if m != nil {
		a.recorded.HideRecent(m.Blob.Reveal())
		for _, value := range m.Env {
			a.recorded.HideRecent(value.Reveal())
		}
	}
	if err != nil && ctx.Err() != nil {
		err = a.explain(err)
	}
	return m, err
}

// explain adds to the error of a wait that the command of the entry, which prints credentials, has
// not ended. It returns err if no command runs, and for a nil account.
func (a *SharedAccount) explain(err error) error {
	if a == nil || a.helpers.Load() == 0 {
		return err
	}
	return &StartError{
		Err:   fmt.Errorf("%w; the command of auth in its entry, %s, has not ended", err, cleantext.Line(a.server.Auth.Command[0], noiseLine)),
		Cause: crash.Cause{Hint: "run that command by hand to see what it waits for: it prints credentials and ends"},
	}
}

// Provider returns the name of the provider that signs in to a server, or "". If the entry of a url
// names no provider, that is OAuth, unless its headers have credentials: a token that the user
// configured must not be replaced by another.
func (as *Accounts) Provider(s config.Server) string {
	switch {
	case s.Auth.Provider == config.AuthNone:
		return ""
	case s.Auth.Provider != "":
		return s.Auth.Provider
	case s.URL == "" || strings.HasPrefix(s.URL, "unix:") || !as.config.Modules.Builtin(providerOAuth):
		return ""
	}
	for name, value := range s.Headers {
		if isAuthorization(name) && hasCredentials(value) {
			return ""
		}
	}
	return providerOAuth
}

// Of returns the account that signs in to a server, or nil if the server needs none.
func (as *Accounts) Of(s config.Server) (*SharedAccount, error) {
	name := as.Provider(s)
	if name == "" {
		return nil, nil
	}
	_, released := s.Claim() // reports whether its variables are those of a released entry
	key, err := json.Marshal([]any{s.Name, s.URL, s.Proxy, s.TLS, s.Auth, released})
	if err != nil {
		return nil, err
	}
	as.mu.Lock()
	defer as.mu.Unlock()
	if as.closed {
		return nil, hosterr.ErrClosed
	}
	if a := as.accounts[string(key)]; a != nil {
		return a, nil
	}
	a, err := as.newAccount(name, s)
	if err != nil {
		return nil, err
	}
	as.accounts[string(key)] = a
	return a, nil
}

// newAccount connects a server with its provider. It loads nothing yet. The caller holds mu.
func (as *Accounts) newAccount(name string, s config.Server) (*SharedAccount, error) {
	file := as.config.Modules.Files()[name]
	fromFile := file.File != ""
	switch {
	case !fromFile && !as.config.Modules.Builtin(name):
		hint := hosterr.AddPlugin(name)
		if meant := config.ProviderMeant(name); meant == config.AuthNone || as.config.Modules.Builtin(meant) {
			hint = fmt.Sprintf("did you mean provider = %q?", meant)
		}
		return nil, hosterr.Errorf(hosterr.ErrConfig, hint, "no auth provider is called %q", name)
	case file.Isolation == config.IsolationProcess:
		return nil, hosterr.Configf("plugin %s is an auth provider, which reaches nothing by itself; isolation is for transports", name)
	}
	// A provider that is compiled in is trusted like the program: it may call the origins that it
	// discovers, and its servers share registrations. A provider that is loaded from a file may
	// call only what its entry grants, and shares nothing.
	reach := egress.Policy{Origins: file.Origins, Discover: file.Discover || !fromFile}
	var warned sync.Once
	c := auth.Config{
		Name: name,
		Lazy: s.Auth.IsZero(),
		Provider: func(ctx context.Context) (auth.Provider, error) {
			p, err := as.config.Modules.Provider(ctx, name)
			if err != nil {
				return nil, err
			}
			if as.config.Record != nil {
				return as.recording(s.Name, p), nil
			}
			return auth.ForAccount(p), nil // a Provider keeps the first plugin that it got
		},
		Warn:     func(text string) { warned.Do(func() { as.config.Warn(s.Name, text) }) },
		Server:   step.Server{Name: s.Name, Variables: s.Auth.Variables, Blob: s.Auth.Blob},
		Settings: as.settings(s),
		Hide:     as.secrets.shown.HideNamed,
		Client:   step.Client{Name: as.config.Client.Name, Version: as.config.Client.Version},
		Grant:    auth.Grant{Variables: s.Auth.Variables, Blob: s.Auth.Blob, Body: s.Auth.RequestBody, Registrations: !fromFile},
		Person:   as.config.Person,
		Listen: func(ctx context.Context, l step.Listen) (auth.Callback, error) {
			c, err := egress.ListenCallback(ctx, l.Host, l.Port, l.Path)
			if err != nil {
				return nil, err
			}
			return c, nil
		},
	}
	owner := name
	if i := file.Installed; i != nil {
		c.Installed, owner = true, vault.Owner(name, i.Records)
	}
	if as.config.Vault != nil {
		c.Vault = vault.Scope{Vault: as.config.Vault, Owner: owner}
	}
	if s.URL != "" {
		o, err := origin(s)
		if err != nil {
			return nil, err
		}
		reach.Server = o
		c.Server.URL, c.Server.Resource = httpclient.HTTPURL(s.URL), o.Resource()
	}
	helpers := new(atomic.Int32)
	if len(s.Auth.Command) > 0 {
		c.Run = as.helper(process.Process{Command: s.Auth.Command[0], Args: s.Auth.Command[1:], Env: environ(s.Auth.Env)}, helpers)
	}
	fetch, err := egress.NewFetcher(reach)
	if err != nil {
		return nil, hosterr.Configf("auth: %w", err)
	}
	c.Fetch = fetch
	return &SharedAccount{Account: auth.NewAccount(c), server: s, recorded: as.secrets.recorded, fetch: fetch, helpers: helpers, vault: as.config.Vault}, nil
}

// helper returns a function that runs the command of an entry, and counts its runs while they last.
func (as *Accounts) helper(p process.Process, running *atomic.Int32) func(context.Context) (*step.RunResult, error) {
	return func(ctx context.Context) (*step.RunResult, error) {
		running.Add(1)
		defer running.Add(-1)
		ctx, done := endingWith(ctx, as.ending)
		defer done()
		out, err := p.Run(ctx)
		if err != nil {
			return nil, err
		}
		return &step.RunResult{Code: out.Code, Stdout: string(out.Stdout), Stderr: out.Stderr}, nil
	}
}

// recording returns a provider that records its flows.
func (as *Accounts) recording(server string, p *auth.Plugin) auth.Provider {
	return &flowrecord.Recorder{
		Provider: auth.ForAccount(p), Rehearsal: auth.ForAccount(p), Secrets: as.secrets.recorded,
		Write: as.config.Record.Flow,
		Warn:  func(text string) { as.config.Warn(server, text) },
	}
}

// endingWith returns a context that also ends helperGrace after another. done ends it at once.
func endingWith(ctx, other context.Context) (within context.Context, done func()) {
	within, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(other, func() {
		timer := time.AfterFunc(helperGrace, cancel)
		context.AfterFunc(within, func() { timer.Stop() })
	})
	return within, func() { stop(); cancel() }
}

// helperGrace is how long the command of an entry may go on when the accounts are closed: it may
// be about to print.
const helperGrace = 2 * time.Second

// close ends sign-ins that wait for a person, and soon the commands of entries. It waits until flows
// that have begun have stored their results. No account is made afterwards.
func (as *Accounts) close() {
	as.end()
	as.mu.Lock()
	as.closed = true
	accounts, former := slices.Collect(maps.Values(as.accounts)), maps.Clone(as.former)
	as.mu.Unlock()
	for _, a := range accounts {
		a.Close()
		a.fetch.Close()
	}
	for p, fetch := range former {
		if a := p.Value(); a != nil {
			a.Close()
		}
		fetch.Close()
	}
}

// Saved returns what any provider has saved for a server.
func (as *Accounts) Saved(ctx context.Context, s config.Server) ([]vault.Entry, error) {
	if as.config.Vault == nil {
		return nil, nil
	}
	server := step.Server{Name: s.Name}
	if s.URL != "" {
		o, err := origin(s)
		if err != nil {
			return nil, err
		}
		server.URL, server.Resource = httpclient.HTTPURL(s.URL), o.Resource()
	}
	saved, err := as.config.Vault.List(ctx)
	return slices.DeleteFunc(saved, func(one vault.Entry) bool { return !auth.IsOf(one.Key, &server) }), err
}

// ForgetSaved forgets what any provider has saved for a server, and revokes nothing.
func (as *Accounts) ForgetSaved(ctx context.Context, s config.Server) error {
	saved, err := as.Saved(ctx, s)
	if err != nil {
		return err
	}
	for _, one := range saved {
		if err := as.config.Vault.Forget(ctx, one.Key, 0); err != nil {
			return err
		}
	}
	return nil
}

// Dismiss takes accounts out of use if their provider is in changed. Their flows go on, and later
// accounts find what they have saved. When the last connection and sign-in with such an account is
// over, the account is closed.
func (as *Accounts) Dismiss(changed map[string]bool) {
	as.mu.Lock()
	defer as.mu.Unlock()
	for key, a := range as.accounts {
		if changed[as.Provider(a.server)] {
			former := weak.Make(a.Account)
			as.former[former] = a.fetch
			runtime.AddCleanup(a.Account, as.forget, former)
			delete(as.accounts, key)
		}
	}
}

// forget closes an account that was taken out of use and that nothing uses any more.
func (as *Accounts) forget(former weak.Pointer[auth.Account]) {
	as.mu.Lock()
	fetch := as.former[former]
	delete(as.former, former)
	as.mu.Unlock()
	fetch.Close()
}
