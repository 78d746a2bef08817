package auth

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
)

// Account is the sign-in to one server. It keeps the result of the last flow, adds the
// credentials to requests, and has them renewed. Its methods are safe for concurrent use.
// It implements httpclient.Credentials.
type Account struct {
	config Config
	origin string // of the server; "" for a process
	nonces nonces
	work   sync.WaitGroup // the running flow

	mu         sync.Mutex
	provider   Provider // nil before it is loaded
	current    *current // nil before the first flow, and after a logout
	run        *run     // nil if no flow is running
	unanswered *step.Challenge
	stepUps    int       // how many were granted
	steppedUp  time.Time // the last one
	closed     bool
}

var _ httpclient.Credentials = (*Account)(nil)

// current is the result of the last flow. Another one replaces it; it is not changed.
type current struct {
	result
	pairs []abi.Pair
	from  string // the reason of the flow; "" if there was none
	born  time.Time
	renew time.Time // zero if it does not expire
}

// NewAccount returns the account of a server. It loads no provider.
func NewAccount(c Config) *Account {
	a := &Account{config: c}
	if u, err := url.Parse(c.Server.URL); err == nil {
		a.origin, _ = originOf(u)
	}
	return a
}

// Close stops waiting for the person, and waits until the running flow has ended by
// itself, so that what a server gave is stored before the program exits.
func (a *Account) Close() {
	a.mu.Lock()
	a.closed = true
	if a.run != nil {
		a.run.quit()
	}
	a.mu.Unlock()
	a.work.Wait()
}

// Apply returns the headers that sign a request in, after the flow that it takes,
// if it takes one. A flow that fails is an *Error; one that has nothing to give
// lets the request go as it is, and so does one of a signer that has left no state.
func (a *Account) Apply(ctx context.Context, r *httpclient.Request) ([]abi.Pair, error) {
	h, err := a.obtain(ctx)
	switch {
	case err != nil:
		return nil, err
	case a.signs(h):
		return a.signed(ctx, h, r)
	case h.credentials == nil || h.credentials.key == nil:
		return h.pairs, nil
	}
	proof, err := h.credentials.key.proof(r.Method, r.URL, h.credentials.token.Reveal(), a.nonces.of(a.origin))
	if err != nil {
		return nil, blame(a.config.Name, "prove a request", err)
	}
	return append(h.pairs[:len(h.pairs):len(h.pairs)], abi.Pair{Key: "DPoP", Value: proof}), nil
}

// Nonce implements [httpclient.Credentials]: it keeps the server's nonce for the next
// DPoP proof (RFC 9449).
func (a *Account) Nonce(nonce string) { a.nonces.note(a.origin, nonce) }

// Material returns what signs in to a server over another transport than HTTP, after
// running the flow that it takes. It is called for each start of the server. If the flow
// gives none, the error is an *Error: the person has to sign in first.
func (a *Account) Material(ctx context.Context) (*Material, error) {
	h, err := a.obtain(ctx)
	if err != nil {
		return nil, err
	}
	if h.material != nil {
		return h.material, nil
	}
	// The entry of the server says that there is something, and a server that is not
	// spoken to by HTTP has no way to ask for it.
	e := &Error{Provider: a.config.Name, Class: step.FailLogin, Message: "no person has signed in"}
	if p := a.loaded(); p != nil && !p.Manifest().Wants.Material {
		e.Class, e.Message = step.FailConfig, "it signs in over HTTP alone"
		e.Hint = "name another provider in the auth of " + a.config.Server.Name
	}
	return nil, e
}

// obtain returns what requests use, after running or waiting for the flow that it takes.
func (a *Account) obtain(ctx context.Context) (*current, error) {
	for {
		a.mu.Lock()
		h, reason := a.current, a.due()
		if err := a.closedError(); err != nil || reason == "" {
			h = a.current
			a.mu.Unlock()
			return h, err
		}
		f := a.run
		if f == nil {
			f = a.begin(reason, nil, false)
		}
		a.mu.Unlock()
		err := f.wait(ctx)
		switch {
		case f.forRequests() && err == nil:
			return f.given, nil
		case err != nil && h != nil && h.lasts() && ctx.Err() == nil:
			return h, nil // renewing is early, and can be tried again
		case f.forRequests() || ctx.Err() != nil:
			return nil, err
		}
	}
}

// due returns the reason why a flow is needed, or "". The caller holds a.mu.
func (a *Account) due() string {
	switch h := a.current; {
	case h == nil && a.config.Lazy && !a.hasRecord():
		a.current = &current{}
	case h == nil:
		return step.ReasonInitial
	case !h.renew.IsZero() && !time.Now().Before(h.renew):
		return step.ReasonExpired
	}
	return ""
}

// hasRecord reports whether the vault has a record for the server. It needs no provider.
func (a *Account) hasRecord() bool {
	v, s := a.config.Vault, &a.config.Server
	return v != nil && (s.Resource != "" && v.Has(a.config.Name, s.Resource) || v.Has(a.config.Name, boundTo(s)))
}

func (a *Account) closedError() error {
	if a.closed {
		return fmt.Errorf("sign in to %s: %w", a.config.Server.Name, errClosed)
	}
	return nil
}

// Credentials are renewed about a minute before they expire, at a random moment, so that
// the programs of a user do not do it at once. Short-lived ones are renewed at half their
// life.
const (
	renewAhead  = 60 * time.Second
	renewSpread = 30 * time.Second
	renewLeast  = time.Second      // after the last time
	renewAgain  = 10 * time.Second // after one that failed
)

// newCurrent returns the result of a flow that ends now.
func newCurrent(o *result, reason string) *current {
	h := &current{result: *o, from: reason, born: time.Now()}
	c := o.credentials
	if c == nil {
		return h
	}
	h.pairs = c.pairs()
	if !c.expires.IsZero() {
		life := c.expires.Sub(h.born)
		ahead := min(renewAhead-renewSpread+rand.N(2*renewSpread), life/2)
		h.renew = h.born.Add(max(life-ahead, renewLeast))
	}
	return h
}

// lasts reports whether the credentials have not expired. It is false if they never do.
func (h *current) lasts() bool {
	return h.credentials != nil && !h.credentials.expires.IsZero() && time.Now().Before(h.credentials.expires)
}

// Prepare loads the provider unless the account is lazy. The first message needs it, and
// loading it should not count against the timeout of the server. An error is reported by
// the first use of the provider.
func (a *Account) Prepare(ctx context.Context) {
	if !a.config.Lazy {
		_, _ = a.load(ctx)
	}
}

// load returns the provider, and loads it on first use.
func (a *Account) load(ctx context.Context) (Provider, error) {
	if p := a.loaded(); p != nil {
		return p, nil
	}
	if a.config.Provider == nil {
		return nil, errors.New("there is no provider")
	}
	p, err := a.config.Provider(ctx)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.provider = p
	return p, nil
}

// loaded returns the provider, or nil if it is not loaded yet.
func (a *Account) loaded() Provider {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.provider
}
