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

// Account is one server that is signed in to: it remembers what the last flow
// has given, attaches it to requests, and has it renewed. Its methods are safe
// for concurrent use. It is what httpclient.Credentials wants.
type Account struct {
	config Config
	origin string // of the server; "" for a process
	nonces nonces
	work   sync.WaitGroup // the flow under way

	mu         sync.Mutex
	provider   Provider // once it is loaded
	held       *held    // nil before the first flow, and after a logout
	flight     *flight  // nil if no flow is under way
	unanswered *step.Challenge
	stepUps    int       // that were granted
	steppedUp  time.Time // the last one
	closed     bool
}

var _ httpclient.Credentials = (*Account)(nil)

// held is what a flow has given. It is not changed, but for the time at which to
// renew it.
type held struct {
	outcome
	pairs []abi.Pair
	from  string // the reason of the flow; "" if nobody was asked
	born  time.Time
	renew time.Time // zero if it does not age
}

// NewAccount returns the account of a server. Nothing is loaded or asked.
func NewAccount(c Config) *Account {
	a := &Account{config: c}
	if u, err := url.Parse(c.Server.URL); err == nil {
		a.origin, _ = originOf(u)
	}
	return a
}

// Close ends what waits for a person, and waits for the flow under way to end by
// itself: what a server has given is stored before the program leaves.
func (a *Account) Close() {
	a.mu.Lock()
	a.closed = true
	if a.flight != nil {
		a.flight.quit()
	}
	a.mu.Unlock()
	a.work.Wait()
}

// Apply returns the headers that sign a request in, after the flow that it takes,
// if it takes one. A flow that fails is an *Error; one that has nothing to give
// lets the request go as it is, and so does one of a signer that has left no state.
func (a *Account) Apply(ctx context.Context, r *httpclient.Request) ([]abi.Pair, error) {
	h, err := a.current(ctx)
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

// Nonce keeps the nonce for the next proof.
func (a *Account) Nonce(nonce string) { a.nonces.note(a.origin, nonce) }

// Material returns what signs in to a server that is not spoken to by HTTP, after
// the flow that it takes. It is asked for each time that the server is started. A
// flow that gives none is an *Error: somebody has to sign in first.
func (a *Account) Material(ctx context.Context) (*Material, error) {
	h, err := a.current(ctx)
	if err != nil {
		return nil, err
	}
	if h.material == nil {
		return nil, a.immaterial()
	}
	return h.material, nil
}

// immaterial is why there is nothing for a server whose entry says that there is:
// a server that is not spoken to by HTTP has no way to ask for it.
func (a *Account) immaterial() error {
	e := &Error{Provider: a.config.Name, Class: step.FailLogin, Message: "nobody has signed in"}
	if p := a.loaded(); p != nil && !p.Manifest().Wants.Material {
		e.Class, e.Message = step.FailConfig, "it signs in over HTTP alone"
		e.Hint = "name another provider in the auth of " + a.config.Server.Name
	}
	return e
}

// current returns what is held, after the flow that it needs, if it needs one. A
// flow that somebody else has begun is as good as one's own.
func (a *Account) current(ctx context.Context) (*held, error) {
	for {
		a.mu.Lock()
		h, reason := a.held, a.due()
		if err := a.closedError(); err != nil || reason == "" {
			h = a.held
			a.mu.Unlock()
			return h, err
		}
		f := a.flight
		if f == nil {
			f = a.launch(reason, nil, false)
		}
		a.mu.Unlock()
		err := f.wait(ctx)
		switch {
		case f.forRequests() && err == nil:
			return f.gave, nil
		case err != nil && h != nil && h.lasts() && ctx.Err() == nil:
			return h, nil // it was to be renewed early, and can be later
		case f.forRequests() || ctx.Err() != nil:
			return nil, err
		}
	}
}

// due returns the reason why a flow is needed, or "". The caller holds a.mu.
func (a *Account) due() string {
	switch h := a.held; {
	case h == nil && a.config.Lazy && !a.hasRecord():
		a.held = &held{}
	case h == nil:
		return step.ReasonInitial
	case !h.renew.IsZero() && !time.Now().Before(h.renew):
		return step.ReasonExpired
	}
	return ""
}

// hasRecord asks the vault without the provider.
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

// Credentials are renewed a minute before they expire, and not by all programs of
// the user at once. Those that live for less than that are renewed at half their
// life.
const (
	renewAhead  = 60 * time.Second
	renewSpread = 30 * time.Second
	renewLeast  = time.Second      // after the last time
	renewAgain  = 10 * time.Second // after one that failed
)

// newHeld is what a flow for a reason has given, now.
func newHeld(o *outcome, reason string) *held {
	h := &held{outcome: *o, from: reason, born: time.Now()}
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

// lasts reports whether what is held can still be used.
func (h *held) lasts() bool {
	return h.credentials != nil && !h.credentials.expires.IsZero() && time.Now().Before(h.credentials.expires)
}

// Prepare loads the provider, unless that is lazy: it is wanted with the first message,
// and loading it is no part of the time that the server has. What goes wrong is said
// when it is wanted.
func (a *Account) Prepare(ctx context.Context) {
	if !a.config.Lazy {
		_, _ = a.load(ctx)
	}
}

// load returns the provider, loading it if nobody has.
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

// loaded returns the provider, or nil: that of a lazy account is loaded for its first
// flow.
func (a *Account) loaded() Provider {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.provider
}
