package main

import (
	"errors"
	"net/url"
	"time"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// Bounds of what a device authorization response says, in seconds.
const (
	pollEvery = 5 // if it says nothing
	pollMost  = 60
	slowDown  = 5 // more, each time that it is told to (RFC 8628, section 3.5)
	codeLife  = 600
	codeMost  = 1800
)

// signInByCode shows a code that the person types somewhere else (RFC 8628).
func (l *login) signInByCode(at *place) (*token, error) {
	t, err := l.device(at)
	if errors.Is(err, errClientGone) {
		if err := l.dropRegistration(at.Server.Issuer); err != nil {
			return nil, err
		}
		t, err = l.device(at)
	}
	if errors.Is(err, errNoClient) {
		return l.askForToken(at)
	}
	return t, err
}

func (l *login) device(at *place) (*token, error) {
	if at.Server.Device == "" {
		return nil, auth.Misconfigured("the authorization server "+at.Server.Issuer+" has no device codes", "leave grant out, to sign in in the browser")
	}
	c, err := l.identify(at, func(client) (string, error) { return "", nil })
	if err != nil {
		return nil, err
	}
	src, err := l.sourceOf(at, c)
	if err != nil {
		return nil, err
	}
	code, err := l.askForCode(at.Server.Device, src)
	if err != nil {
		return nil, l.explainGrant(src, err)
	}
	l.Show(auth.Show{URL: code.page, Code: code.user, Complete: code.complete})
	t, err := l.poll(src, code)
	return t, l.explainGrant(src, err)
}

// deviceCode is the response of RFC 8628, section 3.2.
type deviceCode struct {
	device, user   string
	page, complete string
	life, every    int64 // seconds
}

func (l *login) askForCode(endpoint string, src *source) (*deviceCode, error) {
	form := url.Values{}
	if len(src.Scope) > 0 {
		form.Set("scope", list(src.Scope))
	}
	if src.Resource != "" {
		form.Set("resource", src.Resource)
	}
	// The client names itself here as at the token endpoint (section 3.1).
	r, err := l.post(src, endpoint, form, false)
	if err == nil {
		err = checkStatus(r)
	}
	if err != nil {
		return nil, l.redact(err, src, form)
	}
	d, err := readDocument(r)
	if err != nil {
		return nil, err
	}
	return l.readDeviceCode(d)
}

func (l *login) readDeviceCode(d *document) (*deviceCode, error) {
	c := &deviceCode{
		device: d.text("device_code"), user: brief(d.text("user_code")), life: codeLife, every: pollEvery,
		page: l.endpoint(d, "verification_uri"), complete: l.endpoint(d, "verification_uri_complete"),
	}
	if n, ok := d.seconds("expires_in"); ok {
		c.life = min(n, codeMost)
	}
	if n, ok := d.seconds("interval"); ok {
		c.every = max(1, min(n, pollMost))
	}
	switch {
	case d.err != nil:
		return nil, d.err
	case c.device == "" || c.user == "" || c.page == "":
		return nil, errors.New("its answer lacks a code, or where to type it")
	}
	return c, nil
}

// round is the outcome of one request to the token endpoint.
type round struct {
	Token  *token
	Slower bool
}

// poll asks for the token until the person has typed the code, or it has expired.
func (l *login) poll(src *source, code *deviceCode) (*token, error) {
	every, end := code.every, l.Now().Add(time.Duration(code.life)*time.Second)
	for l.Now().Before(end) {
		got, err := auth.Once(l.Flow, func() (round, error) { return l.pollOnce(src, code, every) })
		if err != nil || got.Token != nil {
			return got.Token, err
		}
		if got.Slower {
			every = min(every+slowDown, pollMost)
		}
	}
	return nil, auth.NeedsLogin("the code was not typed in time", "")
}

func (l *login) pollOnce(src *source, code *deviceCode, every int64) (round, error) {
	if err := l.Wait(time.Duration(every) * time.Second); err != nil {
		return round{}, err
	}
	t, err := l.redeem(src, url.Values{"grant_type": {deviceGrant}, "device_code": {code.device}})
	var problem *auth.Problem
	switch {
	case err == nil:
		return round{Token: t}, nil
	case saysNo(err, "authorization_pending"):
		return round{}, nil
	case saysNo(err, "slow_down"), errors.Is(err, errDown), errors.As(err, &problem) && problem.Code == step.ProblemNetwork:
		return round{Slower: true}, nil // a network that is away is asked less often, too
	}
	return round{}, err
}
