package main

import (
	"errors"
	"net/url"
	"strings"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// Names of RFC 7523, RFC 8693, and the identity assertion grant.
const (
	assertionGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	exchangeGrant  = "urn:ietf:params:oauth:grant-type:token-exchange"
	typeIDToken    = "urn:ietf:params:oauth:token-type:id_token"
	typeIDJAG      = "urn:ietf:params:oauth:token-type:id-jag"
)

// signInByMachine gets a token by a grant that needs no person. As with a refresh, the first of
// several flows gets it for all of them.
func (l *login) signInByMachine(at *place) (*token, error) {
	c := client{Kind: kindGiven, Method: methodNone}
	var err error
	if l.settings.ClientID != "" {
		if c, err = l.given(at); err != nil {
			return nil, err
		}
	}
	src, err := l.sourceOf(at, c)
	if err != nil {
		return nil, err
	}
	var now token
	found, err := l.LoadLocked(l.tokenKey(src.Issuer, c.ID), &now)
	if err != nil {
		return nil, err
	}
	if found && l.isOthers(&now) {
		return &now, l.save(&now, at)
	}
	t, err := l.grant(src)
	if err != nil {
		return nil, l.explainMachine(src, err)
	}
	return t, l.save(t, at)
}

// isOthers reports whether another flow has meanwhile got a token that can be used.
func (l *login) isOthers(t *token) bool {
	if l.Start().Reason == step.ReasonLogin || !l.isFresh(t) || l.token != nil && l.token.Access == t.Access {
		return false
	}
	refused := l.Start().Challenge
	return (refused == nil || refused.Token != t.Access) && contains(t.Scope, parseScopes(l.wants.scope))
}

// repeat gets another token in the way in which the old one was got. The record is locked.
func (l *login) repeat(old *token) (*token, error) {
	if err := l.openProofKey(old.Source.DPoP); err != nil {
		return nil, err
	}
	t, err := l.grant(&old.Source)
	if err != nil {
		return nil, l.explainMachine(&old.Source, err)
	}
	t.assume(old.Scope)
	return t, l.Store(t.key(l), t)
}

// grant runs the configured grant. If that is refused, it tries no other grant in its
// place.
func (l *login) grant(src *source) (*token, error) {
	form := url.Values{}
	if len(src.Scope) > 0 {
		form.Set("scope", list(src.Scope))
	}
	switch l.settings.Grant {
	case grantClient:
		form.Set("grant_type", grantClient)
	case grantWorkload:
		form.Set("grant_type", assertionGrant)
		form.Set("assertion", l.settings.JWT)
	default:
		assertion, err := l.identityAssertion(src)
		if err != nil {
			return nil, err
		}
		form.Set("grant_type", assertionGrant)
		form.Set("assertion", assertion)
	}
	return l.redeem(src, form)
}

// identityAssertion lets the identity provider tell the authorization server who the person
// is: an ID token is exchanged for an identity assertion that is meant for this authorization
// server and this resource.
func (l *login) identityAssertion(src *source) (string, error) {
	s := &l.settings
	form := url.Values{
		"grant_type": {exchangeGrant}, "requested_token_type": {typeIDJAG}, "audience": {src.Issuer},
		"subject_token": {s.IDToken}, "subject_token_type": {typeIDToken},
	}
	if src.Resource != "" {
		form.Set("resource", src.Resource)
	}
	if len(src.Scope) > 0 {
		form.Set("scope", list(src.Scope))
	}
	provider := &source{Client: client{Kind: kindRegistered, ID: s.IDPClientID, Secret: s.IDPClientSecret, Method: methodNone}}
	if s.IDPClientSecret != "" {
		provider.Client.Method = methodBasic
	}
	r, err := l.post(provider, s.IDPTokenEndpoint, form, false)
	if err != nil {
		return "", err
	}
	assertion, err := readAssertion(r)
	switch err = l.redact(err, provider, form); {
	case isRefusal(err):
		return "", auth.Misconfigured("exchange the ID token at "+s.IDPTokenEndpoint+": "+err.Error(), "see id_token, idp_client_id and idp_client_secret")
	case err != nil:
		return "", explain("exchange the ID token at "+s.IDPTokenEndpoint, err)
	}
	return assertion, nil
}

// readAssertion reads the response of RFC 8693, section 2.2. Its access_token holds
// the assertion, as its issued_token_type and its token_type must say.
func readAssertion(r *auth.Response) (string, error) {
	if err := checkStatus(r); err != nil {
		return "", err
	}
	d, err := readDocument(r)
	if err != nil {
		return "", err
	}
	assertion, kind, tokenType := d.text("access_token"), d.text("issued_token_type"), d.text("token_type")
	switch {
	case d.err != nil:
		return "", d.err
	case assertion == "" || kind != typeIDJAG || !strings.EqualFold(tokenType, "N_A"):
		return "", errors.New("it did not issue an identity assertion")
	}
	return assertion, nil
}

// explainMachine explains the failure of a grant without a person. Only the configuration can
// mend it, since no person can be asked.
func (l *login) explainMachine(src *source, err error) error {
	if saysNo(err, "access_denied", "invalid_grant") {
		return auth.Misconfigured("get a token at "+src.Issuer+": "+err.Error(), "see what jwt, id_token or private_key lead to: it may have expired, or be for another server")
	}
	return l.explainGrant(src, err)
}
