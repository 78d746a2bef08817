package auth

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/egress"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// everything is a manifest that wants all there is.
var everything = step.Manifest{ABI: step.Version, Name: "fake", Version: "1", Wants: step.Wants{
	Origins: []string{"https://sso.example"}, Browser: true, Prompt: true, Run: true, Keys: true, Material: true,
}}

// scripted is a provider that says what a test wants.
type scripted struct {
	manifest step.Manifest
	next     func(ctx context.Context, c *step.Call) (*step.Reply, error)

	mu    sync.Mutex
	heard []step.Event
}

func (s *scripted) Manifest() *step.Manifest { return &s.manifest }

func (s *scripted) Step(ctx context.Context, c *step.Call) (*step.Reply, error) {
	s.mu.Lock()
	s.heard = append(s.heard, c.Event)
	s.mu.Unlock()
	return s.next(ctx, c)
}

// starts are the reasons of the flows so far.
func (s *scripted) starts() (reasons []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.heard {
		if e.Start != nil {
			reasons = append(reasons, e.Start.Reason)
		}
	}
	return reasons
}

// signIn makes a provider of straight lines, natively.
func signIn(sign func(f *auth.Flow) error) *scripted {
	return &scripted{manifest: everything, next: func(_ context.Context, c *step.Call) (*step.Reply, error) {
		in, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		out, err := auth.Step(straight(sign), in)
		if err != nil {
			return nil, err
		}
		return readReply(out)
	}}
}

type straight func(f *auth.Flow) error

func (s straight) SignIn(f *auth.Flow) error { return s(f) }

// replies makes a provider that replies these one after the other.
func replies(all ...[]step.Action) *scripted {
	n := 0
	return &scripted{manifest: everything, next: func(context.Context, *step.Call) (*step.Reply, error) {
		if n == len(all) {
			return nil, errors.New("the script is over")
		}
		n++
		return &step.Reply{Actions: all[n-1]}, nil
	}}
}

var done = step.Action{Kind: step.ActionDone}

// bearer is an action.
func bearer(token string, life time.Duration) step.Action {
	c := &step.Credentials{Scheme: "Bearer", Token: token}
	if life != 0 {
		c.ExpiresAt = time.Now().Add(life).UnixMilli()
	}
	return step.Action{Kind: step.ActionCredentials, Credentials: c}
}

// memory is a vault in memory.
type memory struct {
	mu      sync.Mutex
	n       uint64
	records map[vault.Key]vault.Record
	locks   map[vault.Key]chan struct{}
	broken  error
}

func newMemory() *memory {
	return &memory{records: map[vault.Key]vault.Record{}, locks: map[vault.Key]chan struct{}{}}
}

func (m *memory) Load(_ context.Context, key vault.Key) (vault.Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, found := m.records[key]
	return r, found, m.broken
}

func (m *memory) Store(_ context.Context, key vault.Key, value secret.Secret) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.n++
	m.records[key] = vault.Record{Value: value, Generation: m.n}
	return m.n, m.broken
}

func (m *memory) Forget(_ context.Context, key vault.Key, generation uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.records[key]; generation == 0 || r.Generation == generation {
		delete(m.records, key)
	}
	return m.broken
}

func (m *memory) Lock(ctx context.Context, key vault.Key) (func(), error) {
	m.mu.Lock()
	c := m.locks[key]
	if c == nil {
		c = make(chan struct{}, 1)
		m.locks[key] = c
	}
	m.mu.Unlock()
	select {
	case c <- struct{}{}:
		return sync.OnceFunc(func() { <-c }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (m *memory) Has(provider, resource string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.records {
		if k.Provider == provider && k.Resource == resource {
			return true
		}
	}
	return false
}

// fetcher answers exchanges.
type fetcher func(r egress.FetchRequest) (*egress.FetchResponse, error)

func (f fetcher) Fetch(_ context.Context, r egress.FetchRequest) (*egress.FetchResponse, error) {
	return f(r)
}

// callbacks opens a callback that a test visits.
type callbacks struct {
	visits chan visitor
	closed chan struct{}
	err    error
}

type visitor struct {
	query url.Values
	taken chan bool
}

func newCallbacks() *callbacks {
	return &callbacks{visits: make(chan visitor), closed: make(chan struct{})}
}

func (c *callbacks) listen(context.Context, step.Listen) (Callback, error) { return c, c.err }
func (c *callbacks) URI() string                                           { return "http://127.0.0.1:4711/callback" }
func (c *callbacks) Close() error                                          { closeOnce(c.closed); return nil }

func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

func (c *callbacks) Wait(ctx context.Context, accept func(url.Values) bool) error {
	for {
		select {
		case v := <-c.visits:
			ok := accept(v.query)
			v.taken <- ok
			if ok {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// visit comes to the callback, and reports whether it was taken.
func (c *callbacks) visit(query url.Values) bool {
	v := visitor{query, make(chan bool, 1)}
	c.visits <- v
	return <-v.taken
}

// setup is the configuration of an account of a server.
func setup(p Provider) Config {
	return Config{
		Name:     "corp",
		Provider: func(context.Context) (Provider, error) { return p, nil },
		Server:   step.Server{Name: "tracker", URL: "https://mcp.example/mcp", Resource: "https://mcp.example/mcp"},
		Vault:    newMemory(),
	}
}

// runFlow runs one flow of an account that is not there.
func runFlow(t *testing.T, c Config, start step.Start) (*result, error) {
	t.Helper()
	p, err := c.Provider(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	start.Settings = []byte("{}")
	start.Server = c.Server
	f := &flow{config: &c, provider: p, start: &start, nonces: &nonces{}}
	if start.Interactive {
		f.person = t.Context()
	}
	return f.run(t.Context())
}

func wantError(t *testing.T, err error, class, text string) *Error {
	t.Helper()
	var known *Error
	if !errors.As(err, &known) {
		t.Fatalf("got the error %v, want one of class %s", err, class)
	}
	if known.Provider != "corp" || known.Class != class || !contains(err, text) {
		t.Fatalf("got the error %v of class %s, want %q of class %s", err, known.Class, text, class)
	}
	return known
}

func contains(err error, text string) bool {
	return err != nil && strings.Contains(err.Error(), text)
}
