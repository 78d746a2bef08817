package main

import (
	"errors"
	"net/url"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// canRenew reports whether another token can be had without asking a person.
func (l *login) canRenew(t *token) bool { return t.Refresh != "" || l.settings.byMachine() }

// renew returns a token in place of the saved one, which has expired or was refused. All
// flows of all processes do this one after the other, and the first does it for all: a flow
// that finds another token than before takes that. renew returns nil if nothing is left to
// renew.
func (l *login) renew() (*token, error) {
	var now token
	found, err := l.LoadLocked(l.token.key(l), &now)
	switch {
	case err != nil || !found:
		return nil, err
	case now.Access != l.token.Access && l.isFresh(&now):
		return &now, nil
	}
	l.token = &now
	if now.Refresh == "" {
		return l.repeat(&now)
	}
	return l.refresh(&now)
}

// refresh uses the refresh token (RFC 6749, section 6). That may be good only once, so the
// new token is stored before it is used. The refresh token is forgotten only if the
// authorization server has refused it: a login survives a server that is down, or a missing
// network.
func (l *login) refresh(old *token) (*token, error) {
	if err := l.openProofKey(old.Source.DPoP); err != nil {
		return nil, err
	}
	t, err := l.redeem(&old.Source, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh}})
	if err != nil {
		return nil, l.giveUp(old, err)
	}
	t.Refreshed = true
	t.Refresh = or(t.Refresh, old.Refresh)
	t.assume(old.Scope)
	return t, l.Store(t.key(l), t)
}

// giveUp decides what a failed refresh means for the token that was sent. It returns nil if the
// login is over.
func (l *login) giveUp(old *token, err error) error {
	var r *refusal
	switch given := old.Source.Client.Kind == kindGiven; {
	case saysNo(err, "invalid_client") && given:
		return auth.Misconfigured("refresh at "+old.Source.Issuer+": "+err.Error(), "see client_id and client_secret")
	case saysNo(err):
		l.token = nil
		if saysNo(err, "invalid_client") {
			if err := l.dropLost(&old.Source); err != nil {
				return err
			}
		}
		return l.Forget(old.key(l))
	case errors.As(err, &r):
		return &auth.Failure{Class: step.FailLogin, Message: "refresh at " + old.Source.Issuer + ": " + err.Error(), URL: old.Source.Issuer}
	}
	return explain("refresh at "+old.Source.Issuer, err)
}

// explain puts before an error what was being done, and keeps its class.
func explain(doing string, err error) error {
	var f *auth.Failure
	var p *auth.Problem
	switch {
	case errors.As(err, &f), errors.As(err, &p):
		return err
	}
	return errors.New(doing + ": " + err.Error())
}
