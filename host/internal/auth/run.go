package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
)

// run is the flow that an account runs at the moment. Everyone who needs its result waits
// for it, and may stop waiting: it ends by itself.
type run struct {
	reason  string
	person  context.Context // nil if the flow asks no person
	quit    func()          // stops waiting for the person
	waiting int             // how many logins wait for it; under the mutex of the account
	done    chan struct{}

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

// forRequests reports whether requests asked for the flow. Its error then is the error of
// all of them. A flow that asks the person may fail because the person declined, which is
// not the error of a request.
func (f *run) forRequests() bool { return f.person == nil && f.reason != step.ReasonLogout }

// begin begins a flow. The caller holds a.mu, and no other flow is running.
func (a *Account) begin(reason string, c *step.Challenge, interactive bool) *run {
	f := &run{reason: reason, quit: func() {}, done: make(chan struct{})}
	if interactive {
		late := fmt.Errorf("the person did not answer within %v: %w", personTime, context.DeadlineExceeded)
		ctx, cancel := context.WithTimeoutCause(context.Background(), personTime, late)
		f.person, f.quit = ctx, cancel
	}
	a.run = f
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
		o, err := a.runFlow(f, start)
		a.finish(f, o, err)
	})
	return f
}

// runFlow runs the flow. It does not end with the requests or logins that wait for it.
func (a *Account) runFlow(f *run, start *step.Start) (*result, error) {
	ctx := context.Background()
	p, err := a.load(ctx)
	if err != nil {
		return nil, &Error{Provider: a.config.Name, Class: step.FailConfig, Message: "load", Err: err}
	}
	if start.Settings, err = a.settings(ctx, p); err != nil {
		return nil, &Error{Provider: a.config.Name, Class: step.FailConfig, Message: "settings", Err: err}
	}
	return (&flow{config: &a.config, provider: p, start: start, nonces: &a.nonces, person: f.person}).run(ctx)
}

// finish keeps the result of a flow.
func (a *Account) finish(f *run, o *result, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.run = nil
	if err != nil {
		f.err = err
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
	f.given = newCurrent(o, f.reason)
	a.current = f.given
	switch f.reason {
	case step.ReasonUpscope:
		a.stepUps++
		a.steppedUp = time.Now()
		fallthrough
	case step.ReasonChallenged, step.ReasonLogin:
		a.unanswered = nil
	}
}

// Login asks the person to sign in, also if there are saved credentials. The provider
// learns what the server wants from its last refusal of a request. No other method asks the
// person. Concurrent logins share one flow and its error; when the last of them stops
// waiting, the question to the person ends.
func (a *Account) Login(ctx context.Context) error {
	if a.config.Person == nil {
		return &Error{Provider: a.config.Name, Class: step.FailLogin, Message: "there is no person to ask"}
	}
	for {
		f, err := a.join(step.ReasonLogin)
		if err != nil {
			return err
		}
		if f.person == nil {
			if _ = f.wait(ctx); ctx.Err() != nil {
				return context.Cause(ctx)
			}
			continue // that flow was for a request, and did not ask the person
		}
		err = f.wait(ctx)
		a.leave(f)
		return err
	}
}

// Logout has the provider revoke and forget what it has for the server, and forgets the
// current credentials.
func (a *Account) Logout(ctx context.Context) error {
	for {
		f, err := a.join(step.ReasonLogout)
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
func (a *Account) join(reason string) (*run, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.closedError(); err != nil {
		return nil, err
	}
	f, login := a.run, reason == step.ReasonLogin
	switch {
	case f != nil:
	case login:
		var c *step.Challenge
		if c = a.unanswered; c != nil {
			reason = reasonOf(c)
		}
		a.stepUps = 0
		f = a.begin(reason, c, true)
	case a.config.Lazy && !a.hasRecord():
		a.current, a.unanswered = nil, nil
		return nil, nil
	default:
		f = a.begin(reason, nil, false)
	}
	if login && f.person != nil {
		f.waiting++
	}
	return f, nil
}

// leave ends the waiting of one login.
func (a *Account) leave(f *run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f.waiting--; f.waiting == 0 {
		f.quit()
	}
}
