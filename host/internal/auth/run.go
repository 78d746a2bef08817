package auth

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
)

// begin begins a flow. If it may ask the person, asking has the values of the context in which they
// are asked; otherwise it is nil. The caller holds a.mu, and no other flow is running.
func (a *Account) begin(reason string, c *challenge, asking context.Context) *run {
	interactive := asking != nil
	f := &run{reason: reason, from: reason, before: a.current, refused: a.savedRefused(), quit: func() {}, done: make(chan struct{})}
	if interactive {
		late := fmt.Errorf("the person did not answer within %v: %w", personTime, context.DeadlineExceeded)
		f.person, f.quit = context.WithTimeoutCause(context.WithoutCancel(asking), personTime, late)
	}
	a.run = f
	start := &step.Start{
		Reason: reason, Interactive: interactive, Browser: interactive && a.config.Listen != nil,
		Server: a.config.Server, Client: a.config.Client,
	}
	if c != nil {
		start.Challenge, f.said = &c.Challenge, c.said
	}
	if a.config.Revision != nil {
		start.Server.Revision = a.config.Revision()
	}
	a.work.Go(func() {
		defer close(f.done)
		defer f.quit()
		o, err := a.runFlow(f, start)
		a.finish(f, o, err)
	})
	return f
}

// runFlow runs the flow. The flow goes on when the requests or logins that wait for it leave.
//
// If a server refuses what was made of other settings than there are now, such as a token that was replaced
// in its file since, the flow begins as if there had been none: the new token is no refused one. Only if
// that gives the same again does the provider learn of the refusal.
func (a *Account) runFlow(f *run, start *step.Start) (*result, error) {
	ctx := context.Background()
	p, err := a.load(ctx)
	if err != nil {
		return nil, &Error{Provider: a.config.Name, Class: step.FailConfig, Message: "load", Err: err}
	}
	if start.Settings, err = a.config.settings(ctx, p.Manifest().Settings); err != nil {
		return nil, &Error{Provider: a.config.Name, Class: step.FailConfig, Message: "settings", Err: err}
	}
	f.settings = sha256.Sum256(start.Settings)
	flowOf := func(start *step.Start) *flow {
		return &flow{
			config: &a.config, provider: p, start: start, trial: a.trial, refused: f.refused, said: f.said, nonces: &a.nonces, person: f.person,
		}
	}
	if h := f.before; start.Challenge != nil && !start.Interactive && h != nil && h.settings != f.settings && h.settings != (printOf{}) {
		anew := *start
		anew.Reason, anew.Challenge = step.ReasonInitial, nil
		if o, err := flowOf(&anew).run(ctx); err == nil && !h.is(o) {
			f.from = step.ReasonInitial
			return o, nil
		}
	}
	return flowOf(start).run(ctx)
}

// Credentials are renewed about a minute before they expire, at a random moment, so that
// the programs of a user do not all renew them at once. Short-lived ones are renewed at
// half their life.
const (
	renewAhead  = 60 * time.Second
	renewSpread = 30 * time.Second
	renewLeast  = time.Second      // after the flow before
	renewAgain  = 10 * time.Second // after a flow that failed
)

// finish stores the result of a flow.
func (a *Account) finish(f *run, o *result, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.run = nil
	if err != nil {
		f.err = err
		if f.person != nil {
			a.trial.end() // the typed secret had no result
		}
		if a.current != nil && a.current.lasts() {
			again := *a.current
			again.renew = time.Now().Add(renewAgain)
			a.current = &again
		}
		return
	}
	if f.reason == step.ReasonLogout {
		a.current, a.unanswered, a.stepUps = nil, nil, 0
		return
	}
	h := &current{result: *o, from: f.from, settings: f.settings, born: time.Now()}
	if c := o.credentials; c != nil {
		h.pairs = c.pairs()
		if !c.expires.IsZero() {
			life := c.expires.Sub(h.born)
			ahead := min(renewAhead-renewSpread+rand.N(2*renewSpread), life/2)
			h.renew = h.born.Add(max(life-ahead, renewLeast))
		}
	}
	f.given, a.current = h, h
	switch f.reason {
	case step.ReasonUpscope:
		a.stepUps++
		a.steppedUp = time.Now()
		fallthrough
	case step.ReasonChallenged, step.ReasonLogin:
		a.unanswered = nil
	}
}

// Login asks the person to sign in, also if there are saved credentials. The provider learns what the
// server wants from its last refusal of a request. No other method asks the person. Concurrent logins
// share one flow, its error, and the values of the first caller's context. When the last of them stops
// waiting, the question to the person ends. Without a person, Login succeeds where the provider needs
// none.
func (a *Account) Login(ctx context.Context) error {
	for {
		f, err := a.join(ctx, step.ReasonLogin)
		if err != nil {
			return err
		}
		err = f.wait(ctx)
		switch {
		case f.person != nil:
			a.mu.Lock()
			if f.waiting--; f.waiting == 0 {
				f.quit()
			}
			a.mu.Unlock()
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case f.reason == step.ReasonLogin:
			return err
		} // else the flow was for a request
	}
}

// Logout makes the provider revoke and forget everything for the server, and forgets the current
// credentials.
func (a *Account) Logout(ctx context.Context) error {
	a.Drop()
	for {
		f, err := a.join(ctx, step.ReasonLogout)
		if f == nil || err != nil {
			return err
		}
		err = f.wait(ctx)
		if f.reason == step.ReasonLogout || ctx.Err() != nil {
			return err
		}
	}
}

// join returns the running flow, or begins one. A login counts as waiting for it from then
// on. It returns nil for a logout that has nothing to do.
func (a *Account) join(ctx context.Context, reason string) (*run, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.closedError(); err != nil {
		return nil, err
	}
	f, login := a.run, reason == step.ReasonLogin
	switch {
	case f != nil:
	case login && a.config.Person == nil:
		f = a.begin(reason, a.unanswered, nil)
	case login:
		if a.unanswered != nil {
			reason = reasonOf(&a.unanswered.Challenge)
		}
		a.stepUps = 0
		f = a.begin(reason, a.unanswered, ctx)
	case a.config.Lazy && !a.hasRecord():
		a.current, a.unanswered = nil, nil
		return nil, nil
	default:
		f = a.begin(reason, nil, nil)
	}
	if login && f.person != nil {
		f.waiting++
	}
	return f, nil
}

// reasonOf returns the reason for a flow after a challenge, or "" for a 403 that more scopes do not
// help against (RFC 6750, section 3.1).
func reasonOf(c *step.Challenge) string {
	more := func(field string) bool { return strings.Contains(field, "insufficient_scope") }
	switch {
	case c.Status == 401:
		return step.ReasonChallenged
	case slices.ContainsFunc(c.Authenticate, more):
		return step.ReasonUpscope
	}
	return ""
}
