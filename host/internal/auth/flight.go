package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
)

// flight is the flow of an account that is under way. Whoever needs one waits for
// it, and may leave: it ends by itself.
type flight struct {
	reason  string
	person  context.Context // nil if nobody can be asked
	quit    func()          // ends the waiting for the person
	waiting int             // how many wait for the person with it; under the mutex of the account
	done    chan struct{}

	// Once done:
	gave *held
	err  error
}

// wait waits for the end of a flow, and returns its error.
func (f *flight) wait(ctx context.Context) error {
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// forRequests tells a flow that requests have asked for. What it says is said to
// all of them. A person's flow may have ended because it was declined, which is
// no answer to a request.
func (f *flight) forRequests() bool { return f.person == nil && f.reason != step.ReasonLogout }

// launch begins a flow. The caller holds a.mu, and no other flow is under way.
func (a *Account) launch(reason string, c *step.Challenge, interactive bool) *flight {
	f := &flight{reason: reason, quit: func() {}, done: make(chan struct{})}
	if interactive {
		late := fmt.Errorf("nobody has answered in %v: %w", personTime, context.DeadlineExceeded)
		ctx, cancel := context.WithTimeoutCause(context.Background(), personTime, late)
		f.person, f.quit = ctx, cancel
	}
	a.flight = f
	start := &step.Start{
		Reason: reason, Interactive: interactive, Browser: interactive && a.config.Listen != nil,
		Server: a.config.Server, Challenge: c, Client: a.config.Client,
	}
	if a.config.Revision != nil {
		start.Server.Revision = a.config.Revision()
	}
	a.work.Go(func() {
		defer close(f.done)
		defer f.quit()
		o, err := a.fly(f, start)
		a.land(f, o, err)
	})
	return f
}

// fly runs the flow, on nobody's behalf but the account's.
func (a *Account) fly(f *flight, start *step.Start) (*outcome, error) {
	ctx := context.Background()
	p, err := a.load(ctx)
	if err != nil {
		return nil, &Error{Provider: a.config.Name, Class: step.FailConfig, Message: "load", Err: err}
	}
	if start.Settings, err = a.settings(ctx, p); err != nil {
		return nil, &Error{Provider: a.config.Name, Class: step.FailConfig, Message: "settings", Err: err}
	}
	run := &flow{config: &a.config, provider: p, start: start, nonces: &a.nonces, person: f.person}
	return run.run(ctx)
}

// land keeps what a flow has given.
func (a *Account) land(f *flight, o *outcome, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.flight = nil
	if err != nil {
		f.err = err
		if a.held != nil && a.held.lasts() {
			again := *a.held
			again.renew = time.Now().Add(renewAgain)
			a.held = &again
		}
		return
	}
	if f.reason == step.ReasonLogout {
		a.held, a.unanswered, a.stepUps = nil, nil, 0
		return
	}
	f.gave = newHeld(o, f.reason)
	a.held = f.gave
	switch f.reason {
	case step.ReasonUpscope:
		a.stepUps++
		a.steppedUp = time.Now()
		fallthrough
	case step.ReasonChallenged, step.ReasonLogin:
		a.unanswered = nil
	}
}

// Login has the person sign in, whatever is saved; what the server has last
// refused a request with tells the provider what it wants. It is the only thing
// that asks anybody. Logins at a time are one, and each gets its error; when the
// last of them leaves, the person is asked no more.
func (a *Account) Login(ctx context.Context) error {
	if a.config.Person == nil {
		return &Error{Provider: a.config.Name, Class: step.FailLogin, Message: "there is nobody to ask"}
	}
	for {
		f, err := a.approach(step.ReasonLogin)
		if err != nil {
			return err
		}
		if f.person == nil {
			if _ = f.wait(ctx); ctx.Err() != nil {
				return context.Cause(ctx)
			}
			continue // that was a request's, and asked nobody
		}
		err = f.wait(ctx)
		a.leave(f)
		return err
	}
}

// Logout has the provider revoke and forget what it has for the server, and
// forgets what is held.
func (a *Account) Logout(ctx context.Context) error {
	for {
		f, err := a.approach(step.ReasonLogout)
		if f == nil || err != nil {
			return err
		}
		err = f.wait(ctx)
		if f.reason == step.ReasonLogout || ctx.Err() != nil {
			return err
		}
	}
}

// approach returns the flow under way, or begins one. A login that it returns is
// waited for from now on. It returns nil for a logout with nothing to do.
func (a *Account) approach(reason string) (*flight, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.closedError(); err != nil {
		return nil, err
	}
	f, login := a.flight, reason == step.ReasonLogin
	switch {
	case f != nil:
	case login:
		var c *step.Challenge
		if c = a.unanswered; c != nil {
			reason = reasonOf(c)
		}
		a.stepUps = 0
		f = a.launch(reason, c, true)
	case a.config.Lazy && !a.hasRecord():
		a.held, a.unanswered = nil, nil
		return nil, nil
	default:
		f = a.launch(reason, nil, false)
	}
	if login && f.person != nil {
		f.waiting++
	}
	return f, nil
}

// leave says that one waits no longer.
func (a *Account) leave(f *flight) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		f.quit()
	}
}
