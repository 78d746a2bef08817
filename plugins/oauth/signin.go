package main

import (
	"net/url"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// oauth signs in to servers that want OAuth.
type oauth struct{}

// login is one flow. Its fields are filled in from the top down.
type login struct {
	*auth.Flow
	settings settings
	server   *url.URL
	wants    wants   // what the challenge says; zero without one
	upscope  bool    // the token was good, and not enough
	before   binding // how the last sign-in went; zero if there was none
	token    *token  // that is saved, or nil
	proving  bool    // the key of proofs is open
}

// SignIn does what the start of the flow asks for.
func (oauth) SignIn(f *auth.Flow) error {
	l, err := newLogin(f)
	if err != nil {
		return err
	}
	if err := l.recall(); err != nil {
		return err
	}
	switch f.Start().Reason {
	case step.ReasonInitial, step.ReasonExpired:
		return l.resume()
	case step.ReasonChallenged, step.ReasonUpscope, step.ReasonLogin:
		return l.answer()
	case step.ReasonLogout:
		return l.leave()
	}
	return auth.Misconfigured("this plugin does not know what to do when it is asked for "+f.Start().Reason, "use a newer one")
}

func newLogin(f *auth.Flow) (*login, error) {
	l := &login{Flow: f}
	if err := l.settings.read(f); err != nil {
		return nil, err
	}
	start := f.Start()
	var err error
	if l.server, err = url.Parse(start.Server.URL); err != nil || l.server.Host == "" {
		return nil, auth.Misconfigured("OAuth is for servers at URLs, and "+start.Server.Name+" has none", "remove its auth, or use another provider")
	}
	if c := start.Challenge; c != nil {
		l.wants = readWants(parseChallenges(c.Authenticate))
		l.upscope = c.Status == 403
	}
	l.upscope = l.upscope || start.Reason == step.ReasonUpscope
	return l, nil
}

// resume goes on with the saved login. It is done even if nothing saved can be used: the server
// may want no credentials, and challenges if it does.
func (l *login) resume() error {
	t, err := l.usable()
	if err != nil || t == nil {
		return err
	}
	return l.use(t)
}

// usable returns the saved token, renewed if need be. It returns nil if there is none that can
// be used.
func (l *login) usable() (*token, error) {
	t := l.token
	switch {
	case t == nil:
		return nil, nil
	case l.isFresh(t), !l.canRenew(t) && t.Expires > l.Now().UnixMilli():
		return t, nil
	case !l.canRenew(t):
		return nil, nil
	}
	return l.renew()
}

// answer answers a challenge, or a person who wants to sign in. It first tries a saved
// token, if that is not the refused one. Then it asks the server anew for its authorization
// server, because that may have changed. Only if it has not changed does answer try a
// refresh.
func (l *login) answer() error {
	if l.isUntried() {
		if t, err := l.usable(); err != nil || t != nil {
			return l.finish(t, err)
		}
	}
	if l.Start().Reason == step.ReasonLogin && l.Start().Challenge == nil {
		fields, err := auth.Once(l.Flow, l.provoke)
		if err != nil {
			return err
		}
		l.wants = readWants(parseChallenges(fields))
	}
	at, err := auth.Once(l.Flow, l.discover)
	if err != nil {
		return err
	}
	if err := l.checkMigration(at.Server.Issuer); err != nil {
		return err
	}
	if l.isWorthRenewing(at) {
		if t, err := l.renew(); err != nil || t != nil {
			return l.finish(t, err)
		}
	}
	if err := l.checkTries(&at); err != nil {
		return err
	}
	t, err := l.signIn(&at)
	return l.finish(t, err)
}

// provoke returns the challenge of the server to a request without credentials, or nothing: a person
// who asks to sign in may do so before any request was refused, and what the server asks for is the
// same. The request is a ping, which begins no session at a server that answers everyone.
func (l *login) provoke() ([]string, error) {
	r, err := l.HTTP(auth.HTTP{Method: "POST", URL: l.Start().Server.URL, Body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		Headers: map[string]string{"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}})
	if err != nil || r.Status != 401 {
		return nil, nil // discover says what is wrong with a server that does not answer
	}
	return []string{r.Headers["www-authenticate"]}, nil
}

func (l *login) finish(t *token, err error) error {
	if err != nil {
		return err
	}
	return l.use(t)
}

// signIn gets a token by the configured grant, and saves it.
func (l *login) signIn(at *place) (*token, error) {
	var t *token
	var err error
	switch start := l.Start(); {
	case l.settings.byMachine():
		return l.signInByMachine(at)
	case !start.Interactive:
		return nil, l.needsPerson(at)
	case l.settings.Grant == grantDevice, !start.Browser && at.Server.Device != "":
		t, err = l.signInByCode(at)
	default:
		t, err = l.signInByBrowser(at)
	}
	if err != nil {
		return nil, err
	}
	return t, l.save(t, at)
}

// needsPerson returns the failure of a sign-in without a person. If the last one has not given enough,
// needsPerson sees to it that the next asks for what is missing.
func (l *login) needsPerson(at *place) error {
	name := l.Start().Server.Name
	no := &auth.Failure{Class: step.FailLogin, Message: "a person has to sign in to " + name, URL: at.Server.Issuer}
	if l.token != nil && l.token.Source.Client.Kind == kindPerson {
		no.URL = "" // there is no page for what was typed
	}
	if l.upscope && l.token != nil {
		no.Message = "the sign-in to " + name + " does not have the rights for this, and a person has to give them"
		no.Hint = "the server does not say which; write scopes into auth of its entry, if you know them, and then: wharf login " + name
		if missing := parseScopes(l.wants.scope); len(missing) > 0 {
			l.want(missing)
			no.Message += ": " + brief(list(missing))
			no.Hint = "sign in with these rights as well: wharf login " + name
		}
	}
	return no
}

// isUntried reports whether the saved token may be accepted: it is not the refused one, and
// allows what the challenge wants.
func (l *login) isUntried() bool {
	start := l.Start()
	if l.token == nil || start.Challenge == nil || start.Reason == step.ReasonLogin {
		return false
	}
	return l.token.Access != start.Challenge.Token && (!l.upscope || contains(l.token.Scope, parseScopes(l.wants.scope)))
}

// isLost reports whether nothing is left of the sign-in of a person: there is no token any more, it has expired,
// or the server refuses it.
func (l *login) isLost() bool {
	t, c := l.token, l.Start().Challenge
	if l.settings.byMachine() {
		return false
	}
	return t == nil || t.Expires != 0 && t.Expires <= l.Now().UnixMilli() || c != nil && c.Status == 401 && c.Token == t.Access
}

// justNow is how long a token counts as new. If a new token is refused, another that comes about
// in the same way would be refused as well.
const justNow = 60_000 // milliseconds

// isWorthRenewing reports whether a refresh can help against the challenge: the
// authorization server is still the same, and the challenge does not ask for more scopes. If
// a person waits and a token that was refreshed just now was refused, only the person can
// help.
func (l *login) isWorthRenewing(at place) bool {
	t := l.token
	if t == nil || t.Refresh == "" || l.upscope || l.Start().Reason == step.ReasonLogin {
		return false
	}
	return t.Source.Issuer == at.Server.Issuer && !(l.Start().Interactive && t.Refreshed && l.isNew(t))
}

func (l *login) isNew(t *token) bool { return l.Now().UnixMilli()-t.Born < justNow }

// checkMigration keeps a client that a person has registered at one authorization server from
// being shown to another that the server names now.
func (l *login) checkMigration(issuer string) error {
	b := l.before
	if l.settings.ClientID == "" || b.Issuer == "" || b.Issuer == issuer {
		return nil
	}
	return auth.Misconfigured(
		"the server now sends people to "+issuer+" to sign in; client_id is registered with "+b.Issuer,
		"if that is right, change client_id, or run: wharf logout "+l.Start().Server.Name)
}
