package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/auth"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
	"github.com/wharf-mcp/wharf/host/internal/connect"
	"github.com/wharf-mcp/wharf/host/internal/egress"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/signin"
)

// Login lets the person sign in to a server, through the callbacks of the configuration. It ends
// when they have signed in, when they decline, or when ctx ends. Without callbacks it signs in where
// that needs no person, and else its error is [ErrLogin]. If they type a secret, Login
// connects the server with it once, and does not store one that the server refuses
// ([signin.ErrTypedRefused]).
func (h *Host) Login(ctx context.Context, s Server) error {
	return h.onAccount(ctx, "sign in to", s, func(ctx context.Context, a *connect.SharedAccount) error {
		switch {
		case a == nil && s.Command != "":
			return &hosterr.Error{
				Kind: hosterr.ErrConfig, Err: errors.New("it is a program on this machine, which needs no sign-in"),
				Hint: "the keys and tokens that it wants go into env in its entry",
			}
		case a == nil:
			return hosterr.Configf(`nothing signs in to it; write auth = "oauth" in its entry`)
		}
		a.Declined.Store(false)
		if err := h.askToSignIn(ctx, a); err != nil || !a.OnTrial() {
			return err
		}
		return h.try(ctx, s, a)
	})
}

// tryTime is how long a server may take to show whether it refuses a secret.
const tryTime = 10 * time.Second

// try connects to a server with the secret that the person has typed, and asks them nothing. A
// secret is stored unless the server refuses it: a server that is not reached refuses nothing.
func (h *Host) try(ctx context.Context, s Server, a *connect.SharedAccount) error {
	limited, cancel := context.WithTimeout(WithOptions(ctx, RequestOptions{Unattended: true}), tryTime)
	defer cancel()
	session, err := h.Connect(limited, s)
	if err == nil {
		session.Close()
	}
	return settle(ctx, a, err, errors.Is(err, ErrAuthRequired) || wantsMore(err))
}

// errTypedRefused and errSavedRefused say which secret the server refuses.
var (
	errTypedRefused = fmt.Errorf("%w: %w", ErrLogin, signin.ErrTypedRefused)
	errSavedRefused = fmt.Errorf("%w: %w", ErrLogin, signin.ErrSavedRefused)
)

// settle ends the trial of a secret that the person has typed, if there is one, after a request
// that ended with err. It drops the secret if the server refused it, or if the caller went away
// before that was known; else it stores the secret. Its error says that the secret was refused,
// or why it could not be stored.
func settle(ctx context.Context, a *connect.SharedAccount, err error, refused bool) error {
	if !refused && !errors.Is(ctx.Err(), context.Canceled) {
		onTrial := a.OnTrial()
		err := a.Keep(context.WithoutCancel(ctx))
		if err == nil && onTrial {
			err = a.Count(context.WithoutCancel(ctx))
		}
		return err
	}
	if !a.Drop() {
		return nil
	}
	a.Turns.Add(1) // from now on, no connection may resume one that was made with the typed secret
	if !refused {
		return nil
	}
	return &hosterr.Error{Kind: errTypedRefused, Err: err}
}

// Logout makes the provider of a server revoke and forget all that it has for that server.
func (h *Host) Logout(ctx context.Context, s Server) error {
	return h.onAccount(ctx, "sign out of", s, func(ctx context.Context, a *connect.SharedAccount) error {
		if a == nil {
			return nil
		}
		a.Turns.Add(1) // before the logout: from now on, no connection may resume one of this account
		if err := a.Logout(ctx); err != nil {
			return err
		}
		return a.Count(ctx)
	})
}

// LogoutAll is [Host.Logout], and then forgets all that any provider has saved for the address of the
// server: for other entries with that address, and for other settings. It does not revoke that.
func (h *Host) LogoutAll(ctx context.Context, s Server) error {
	if err := h.Logout(ctx, s); err != nil {
		return err
	}
	admitted, err := h.admit(ctx, s)
	if err == nil {
		err = h.dialer.Accounts.ForgetSaved(ctx, admitted)
	}
	if err != nil {
		return explain(s.Name, fmt.Errorf("sign out of %s: %w", s.Name, err))
	}
	return nil
}

// IsSaved reports whether anything is saved of a sign-in to the address of the server, which is what [Host.LogoutAll]
// forgets.
func (h *Host) IsSaved(ctx context.Context, s Server) (bool, error) {
	admitted, err := h.admit(ctx, s)
	if err != nil {
		return false, explain(s.Name, err)
	}
	saved, err := h.dialer.Accounts.Saved(ctx, admitted)
	return len(saved) > 0, err
}

// onAccount calls do with the account of a server, or with nil if it needs none. The person is
// present, so they are asked to approve a server of a project first. what is a verb for errors.
func (h *Host) onAccount(ctx context.Context, what string, s Server, do func(context.Context, *connect.SharedAccount) error) error {
	ctx, over, err := h.begin(ctx)
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, s.Name, err)
	}
	defer over()
	var a *connect.SharedAccount
	if err = h.Approve(ctx, s); err == nil {
		a, err = h.account(ctx, s)
	}
	if err == nil {
		err = do(ctx, a)
	}
	if err != nil {
		return explain(s.Name, fmt.Errorf("%s %s: %w", what, s.Name, err))
	}
	return nil
}

// askToSignIn asks the person to sign in, and remembers if they decline. Once they have signed
// in, the sessions that wait for that account go on.
func (h *Host) askToSignIn(ctx context.Context, a *connect.SharedAccount) error {
	h.counts.signIns.Add(1)
	defer h.counts.signedIn.Add(1)
	a.Turns.Add(1) // before the login: another person may sign in
	err := a.Login(ctx)
	var failed *auth.Error
	if errors.As(err, &failed) && failed.Class == step.FailLogin || errors.Is(err, signin.ErrDeclined) {
		a.Declined.Store(true)
	}
	if err == nil && !a.OnTrial() {
		err = a.Count(ctx)
	}
	if err != nil {
		return err
	}
	for _, s := range h.all() {
		if own, _ := h.account(ctx, *s.entry.Load()); own == a {
			s.driver.SignedIn()
		}
	}
	return nil
}

// maxSignIns is how often one call may ask the person to sign in. It asks again if the server
// wants more access than the sign-in before has given.
const maxSignIns = 3

// signingIn calls do. If that fails for lack of a sign-in, and the person may be asked, they
// sign in and signingIn calls do again. Their time does not count against the call, because the
// server has refused its request by then. If the server refuses the credentials of the new
// sign-in, they are not asked again.
func (s *Session) signingIn(ctx context.Context, method string, do func() error) error {
	var signedIn *connect.SharedAccount // by the person, in the attempt before
	for attempt := 0; ; attempt++ {
		err := do()
		if attempt == 0 && s.approves(ctx, err) {
			err = do()
		}
		for range s.entry.Load().Inputs {
			if attempt > 0 {
				break
			}
			again, letGo := s.answers(ctx, err)
			defer letGo() // not before the last attempt to start the server
			if !again {
				break
			}
			err = do()
		}
		s.note(method, err)
		if signedIn != nil {
			// Some servers answer 403 to a wrong key, so a 403 to initialize refuses it too.
			refused := errors.Is(err, ErrAuthRequired) && !wantsMore(err) || method == mcp.MethodInitialize && wantsMore(err)
			if failed := settle(ctx, signedIn, err, refused); failed != nil {
				return failed
			}
		}
		if attempt == maxSignIns || attempt > 0 && !wantsMore(err) || !s.host.mayAsk(ctx, err) {
			return s.unwelcome(ctx, err)
		}
		entry := *s.entry.Load()
		a, broken := s.host.account(ctx, entry)
		if broken != nil || a == nil || a.Declined.Load() {
			return err
		}
		if failed := s.askToSignIn(ctx, a); failed != nil {
			if errors.Is(failed, ErrClosed) {
				return fmt.Errorf("%s: %w", entry.Name, failed)
			}
			failed = explain(entry.Name, failed)
			return &hosterr.Error{Kind: ErrAuthRequired, Err: &signInError{entry.Name, err, failed}, Hint: cmp.Or(Hint(failed), "sign in with: wharf login "+entry.Name)}
		}
		signedIn = a
	}
}

// signInError is the error of a request that needs a sign-in, after the person's attempt to sign
// in failed. Its text is about that attempt.
type signInError struct {
	server          string
	request, signIn error
}

func (e *signInError) Error() string   { return fmt.Sprintf("sign in to %s: %v", e.server, e.signIn) }
func (e *signInError) Unwrap() []error { return []error{e.request, e.signIn} }

// unwelcome adds a kind to an error that says that the server refused saved credentials. If the
// error comes from a transport plugin and has no hint, unwelcome adds a hint at the login.
func (s *Session) unwelcome(ctx context.Context, err error) error {
	if !errors.Is(err, ErrAuthRequired) {
		return err
	}
	entry := *s.entry.Load()
	a, _ := s.host.account(ctx, entry)
	switch {
	case a == nil:
		return err
	case errors.Is(err, ErrLogin) && a.SavedRefused():
		return &hosterr.Error{Kind: errSavedRefused, Err: err, Hint: Hint(err)}
	case !errors.As(err, new(*guest.StatusError)) || Hint(err) != "":
		return err
	}
	return &hosterr.Error{Kind: ErrLogin, Err: err, Hint: "sign in with: wharf login " + entry.Name + ", or look at auth in its entry"}
}

// askToSignIn lets the person sign in, unless the session ends meanwhile.
func (s *Session) askToSignIn(ctx context.Context, a *connect.SharedAccount) error {
	ctx, over := within(ctx, s.inner.Lifetime())
	defer over()
	err := s.host.askToSignIn(ctx, a)
	if err != nil && errors.Is(context.Cause(ctx), ErrClosed) {
		return ErrClosed
	}
	return err
}

// note tells the driver whether the server wants a sign-in, by how a request ended. A refusal
// with 401 says that it does. Only a success of the same method takes that back, since other
// methods may need no sign-in. A 403 changes nothing.
func (s *Session) note(method string, err error) {
	switch refused := s.refused.Load(); {
	case err == nil && (refused == nil || *refused != method):
	case err == nil:
		s.refused.Store(nil)
		s.driver.SignedIn()
	case errors.Is(err, ErrAuthRequired) && !wantsMore(err):
		s.refuse(method)
		s.driver.AuthRequired(err)
	}
}

func (s *Session) refuse(method string) { s.refused.Store(&method) }

// wantsMore reports whether the server knows the account and still refuses the request (403). A
// server that misses valid credentials answers 401 instead.
func wantsMore(err error) bool {
	var refusal *httpclient.Refusal
	return errors.As(err, &refusal) && refusal.HTTP == 403
}

// mayAsk reports whether a person can mend err by signing in, and may be asked. An error that
// only a transport plugin claims is no reason to ask them.
func (h *Host) mayAsk(ctx context.Context, err error) bool {
	if h.config.Person == nil || !errors.Is(err, ErrAuthRequired) || ctx.Err() != nil || session.Unattended(ctx) {
		return false
	}
	if present := h.config.Person.Present; present != nil && !present(ctx) {
		return false
	}
	var refusal *httpclient.Refusal
	if errors.As(err, &refusal) && len(refusal.Keys) > 0 {
		return false // the entry has a key already: a person has to write another in its place
	}
	var failed *auth.Error
	if errors.As(err, &failed) {
		return failed.Class == step.FailLogin
	}
	return !errors.As(err, new(*guest.StatusError))
}

// RefusalText returns what the server wrote when it refused a request with 401 or 403: its text,
// cleaned and clipped. It is "" if err is no such refusal, or has no text that is for people.
func RefusalText(err error) string {
	var refusal *httpclient.Refusal
	if !errors.As(err, &refusal) {
		return ""
	}
	return refusal.Said()
}

// SignInURL returns where a person has to sign in after a request failed with err: the page, if
// there is one yet, or else the authorization server. It is "" if neither is known.
func SignInURL(err error) string {
	var failed *auth.Error
	if errors.As(err, &failed) {
		return failed.URL
	}
	return ""
}

// OpenBrowser shows a page in the person's browser, and does not wait for it. It is for the OpenURL
// of a [signin.Person] at a terminal. The error is an [ErrProtocol] if the page is none that may be opened, for its
// address: it opens https, and http on this machine.
func OpenBrowser(ctx context.Context, url string) error {
	err := egress.OpenBrowser(ctx, url)
	if errors.As(err, new(*egress.RuleError)) {
		return &hosterr.Error{Kind: ErrProtocol, Err: err}
	}
	return err
}
