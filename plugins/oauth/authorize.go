package main

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"

	"github.com/wharf-mcp/wharf/sdk/auth"
)

// errClientGone says that the authorization server no longer knows a client that was registered
// with it.
var errClientGone = auth.Misconfigured("the authorization server does not know the client that it has registered itself",
	"register a client there by hand, and set client_id")

// signInByBrowser sends the person to the authorization server. If the registration turns out to
// be gone, it registers again, once. If the server registers no client, it asks the person for a
// token.
func (l *login) signInByBrowser(at *place) (*token, error) {
	if err := at.Server.checkPKCE(); err != nil {
		return nil, err
	}
	if at.Server.Authorize == "" {
		return nil, auth.Misconfigured("the authorization server "+at.Server.Issuer+" has no page to sign in at", "try grant = \"device_code\" or \"client_credentials\"")
	}
	t, err := l.authorize(at)
	if errors.Is(err, errClientGone) {
		if err := l.dropRegistration(at.Server.Issuer); err != nil {
			return nil, err
		}
		t, err = l.authorize(at)
	}
	if errors.Is(err, errNoClient) {
		return l.askForToken(at)
	}
	return t, err
}

// authorize is one authorization code grant with PKCE (RFC 6749, section 4.1; RFC 7636). It
// settles what to compare the answer with before the page opens.
func (l *login) authorize(at *place) (*token, error) {
	c, err := l.identify(at, l.listen)
	if err != nil {
		return nil, err
	}
	src, err := l.sourceOf(at, c)
	if err != nil {
		return nil, err
	}
	verifier := base64.RawURLEncoding.EncodeToString(l.Random(32))
	page, err := l.page(at, src, verifier)
	if err != nil {
		return nil, err
	}
	params, err := l.Browse(page)
	if err != nil {
		return nil, l.abandon(src, err)
	}
	code, err := readRedirect(&at.Server, params)
	if err == nil {
		return l.redeemCode(src, code, verifier)
	}
	return nil, l.explainGrant(src, err)
}

// sourceOf returns the source of a token for the place.
func (l *login) sourceOf(at *place, c client) (*source, error) {
	alg, err := l.proofAlg(at)
	if err != nil {
		return nil, err
	}
	src := &source{
		Issuer: at.Server.Issuer, Endpoint: at.Server.Token, Revoke: at.Server.Revoke,
		Resource: at.Resource, Scope: l.scopes(at), DPoP: alg, Client: c,
	}
	return src, l.openProofKey(alg)
}

// page returns the address of the authorization request, without the state, which the host adds.
func (l *login) page(at *place, src *source, verifier string) (string, error) {
	u, err := url.Parse(at.Server.Authorize)
	if err != nil {
		return "", err
	}
	challenge := sha256.Sum256([]byte(verifier))
	q := u.Query()
	q.Set("response_type", "code")
	q.Set("client_id", src.Client.ID)
	q.Set("redirect_uri", src.Client.Redirect)
	q.Set("code_challenge", base64.RawURLEncoding.EncodeToString(challenge[:]))
	q.Set("code_challenge_method", "S256")
	q.Del("state")
	if src.Resource != "" {
		q.Set("resource", src.Resource)
	}
	if len(src.Scope) > 0 {
		q.Set("scope", list(src.Scope))
	}
	if strings.Contains(" "+list(src.Scope)+" ", " "+offline+" ") {
		// Without it OpenID providers leave the scope out (OpenID Connect Core,
		// section 11).
		q.Set("prompt", "consent")
	}
	for name, value := range l.settings.AuthorizeParams {
		q.Set(name, value)
	}
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// abandon handles a person who did not come back. The page may have said that it does not know
// the client, so abandon drops a registered client.
func (l *login) abandon(src *source, err error) error {
	if !src.Client.reused {
		return err
	}
	return errors.Join(err, l.dropRegistration(src.Issuer))
}

// readRedirect returns the code that came to the callback. First it checks iss, the
// authorization server that answers (RFC 9207, section 2.4): it must equal the issuer of s
// byte for byte, and must be there if s announced that it would be. An error that came in
// place of a code is believed only after that.
func readRedirect(s *server, params map[string]string) (code string, err error) {
	iss, there := params["iss"]
	switch {
	case there && iss != s.Issuer:
		return "", auth.Misconfigured("the answer to the sign-in came from another authorization server than "+s.Issuer+"; it was not used", "")
	case !there && s.Iss:
		return "", auth.Misconfigured("the answer to the sign-in does not say that it comes from "+s.Issuer+", which always says so; it was not used", "")
	case params["error"] != "":
		return "", &refusal{status: 302, code: brief(params["error"]), text: brief(params["error_description"])}
	case params["code"] == "":
		return "", errors.New("the answer to the sign-in has no code in it")
	}
	return params["code"], nil
}

func (l *login) redeemCode(src *source, code, verifier string) (*token, error) {
	t, err := l.redeem(src, url.Values{
		"grant_type": {grantCode}, "code": {code}, "redirect_uri": {src.Client.Redirect}, "code_verifier": {verifier},
	})
	return t, l.explainGrant(src, err)
}

// explainGrant explains the failure of a grant.
func (l *login) explainGrant(src *source, err error) error {
	doing, again := "sign in at "+src.Issuer, "run: wharf login "+l.Start().Server.Name
	switch {
	case err == nil:
		return nil
	case src.Client.Kind == kindRegistered && saysNo(err, "invalid_client", "unauthorized_client"):
		return errClientGone
	case saysNo(err, "server_error", "temporarily_unavailable"):
		return errors.New(doing + ": " + err.Error())
	case saysNo(err, "access_denied", "invalid_grant", "expired_token", "login_required", "interaction_required", "consent_required"):
		return auth.NeedsLogin(doing+": "+err.Error(), again)
	case saysNo(err, "invalid_client", "unauthorized_client"):
		return auth.Misconfigured(doing+": "+err.Error(), "see client_id, client_secret and private_key")
	case saysNo(err, "invalid_scope"):
		l.unwant()
		return auth.Misconfigured(doing+": "+err.Error(), "set scopes to what it takes")
	case saysNo(err, "invalid_target"):
		return auth.Misconfigured(doing+": "+err.Error(), "set resource to what it takes, or to none")
	case isRefusal(err):
		return auth.Misconfigured(doing+": "+err.Error(), "")
	}
	return explain(doing, err)
}

func isRefusal(err error) bool {
	var r *refusal
	return errors.As(err, &r)
}
