package auth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
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
	trial  *trialVault // the vault of config; nil if that has none
	origin string      // of the server; "" if that is a process
	nonces nonces
	work   sync.WaitGroup // the running flow

	mu         sync.Mutex
	provider   Provider // nil before it is loaded
	current    *current // nil before the first flow, and after a logout
	run        *run     // nil if no flow is running
	unanswered *challenge
	stepUps    int       // how many step-ups were granted
	steppedUp  time.Time // when the last was granted
	closed     bool
}

var _ httpclient.Credentials = (*Account)(nil)

// challenge is a refusal of a request as the provider sees it, and what the server wrote for people.
type challenge struct {
	step.Challenge
	said string
}

// current is the result of the last flow. It is replaced, and never changed.
type current struct {
	result
	pairs    []abi.Pair
	from     string  // the reason for the flow; "" if there was none
	settings printOf // that the flow was given
	born     time.Time
	renew    time.Time // zero if it does not expire
}

// is reports whether a flow has given the same as the one before it.
func (h *current) is(o *result) bool {
	var pairs []abi.Pair
	if o.credentials != nil {
		pairs = o.credentials.pairs()
	}
	return slices.Equal(h.pairs, pairs) && bytes.Equal(h.state, o.state)
}

// printOf is a hash of settings, which may hold secrets. It is zero before any were read.
type printOf [sha256.Size]byte

// lasts reports whether the credentials expire and have not expired yet.
func (h *current) lasts() bool {
	return h.credentials != nil && !h.credentials.expires.IsZero() && time.Now().Before(h.credentials.expires)
}

// run is the flow that an account is running. Several callers may wait for its result, and each may
// stop waiting: the flow goes on to its end.
type run struct {
	reason   string
	from     string          // the reason that gave the result, see [Account.runFlow]
	settings printOf         // that it was given
	before   *current        // the result until then
	person   context.Context // nil if the flow asks no person
	refused  bool            // the server refuses the saved result of the last sign-in
	said     string          // what the server wrote when it refused a request
	quit     func()          // stops waiting for the person
	waiting  int             // how many logins wait for it; guarded by the mutex of the account
	done     chan struct{}

	// Once done:
	given *current
	err   error
}

// wait waits for the end of the flow, and returns its error.
func (f *run) wait(ctx context.Context) error {
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// forRequests reports whether requests asked for the flow. Then its error is the error of all of
// them. A flow that asks the person may fail because the person declined, which is not the error of
// a request.
func (f *run) forRequests() bool { return f.person == nil && f.reason != step.ReasonLogout }

// NewAccount returns the account of a server. It loads no provider.
func NewAccount(c Config) *Account {
	a := &Account{config: c}
	if c.Vault != nil {
		a.trial = &trialVault{Vault: c.Vault}
		a.config.Vault = a.trial
	}
	a.origin, _, _ = originOf(c.Server.URL)
	return a
}

// Close stops waiting for the person. It waits until the running flow has ended, so that the flow's
// results are stored before the program exits.
func (a *Account) Close() {
	a.mu.Lock()
	a.closed = true
	if a.run != nil {
		a.run.quit()
	}
	a.mu.Unlock()
	a.work.Wait()
}

func (a *Account) closedError() error {
	if a.closed {
		return fmt.Errorf("sign in to %s: %w", a.config.Server.Name, errClosed)
	}
	return nil
}

// hasRecord reports whether the vault has a record for the server. It needs no provider.
func (a *Account) hasRecord() bool {
	v, s := a.config.Vault, &a.config.Server
	return v != nil && (s.Resource != "" && v.Has(a.config.Name, s.Resource) || v.Has(a.config.Name, BoundTo(s)))
}

// Prepare loads the provider unless the account is lazy. The first message needs the provider, and
// its loading should not count against the server's timeout. The first use of the provider reports
// an error of Prepare.
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

// OnTrial reports whether the person has typed a secret since the last Keep or Drop. The results of
// that secret are used, but not stored.
func (a *Account) OnTrial() bool {
	if a.trial == nil {
		return false
	}
	a.trial.mu.Lock()
	defer a.trial.mu.Unlock()
	return a.trial.on
}

// Keep stores the results of a secret that the person typed.
func (a *Account) Keep(ctx context.Context) error {
	held, _ := a.trial.end()
	for _, c := range held {
		var err error
		if c.value == nil {
			err = a.trial.Vault.Forget(ctx, c.key, c.generation)
		} else {
			_, err = a.trial.Vault.Store(ctx, c.key, *c.value)
		}
		if err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.current != nil && len(held) > 0 {
		stored := *a.current
		stored.saved = true
		a.current = &stored
	}
	return nil
}

// Drop ends the trial of a sign-in without storing its records, which were held back until the
// server accepted it. It reports whether there were any. The account goes on with what was saved
// before.
func (a *Account) Drop() bool {
	held, on := a.trial.end()
	if on {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.current = nil
	}
	return len(held) > 0
}

// SavedRefused reports whether the server has refused the saved credentials of an earlier sign-in,
// also if this account made it.
func (a *Account) SavedRefused() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.savedRefused()
}

// savedRefused is SavedRefused; the caller holds a.mu.
func (a *Account) savedRefused() bool {
	return a.current != nil && a.current.saved && a.unanswered != nil && a.unanswered.Status == 401 && a.unanswered.Token != ""
}
