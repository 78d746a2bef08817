package main

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/sdk/auth"
)

// redeem gets a token for the code, refresh token or assertion in the form. It always
// sends the resource, whatever the authorization server makes of that (RFC 8707, section
// 2.2).
func (l *login) redeem(src *source, form url.Values) (*token, error) {
	if src.Resource != "" {
		form.Set("resource", src.Resource)
	}
	r, err := l.post(src, src.Endpoint, form, src.DPoP != "")
	if err != nil {
		return nil, err
	}
	t, err := l.readToken(r, src)
	return t, l.redact(err, src, form)
}

// post sends a form to an endpoint, as the client. It follows no redirect, because the form is
// for this endpoint alone.
func (l *login) post(src *source, endpoint string, form url.Values, proved bool) (*auth.Response, error) {
	headers := map[string]string{"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
	if err := l.authenticate(src, headers, form); err != nil {
		return nil, err
	}
	request := auth.HTTP{Method: "POST", URL: endpoint, Headers: headers, Body: form.Encode()}
	if proved {
		request.DPoP = proofKey
	}
	return l.HTTP(request)
}

// refusal is the error of an authorization server that refuses a request (RFC 6749, section
// 5.2). Its code is "" if the answer was not an error of OAuth.
type refusal struct {
	status     int
	code, text string
}

func (r *refusal) Error() string {
	switch {
	case r.code == "":
		return fmt.Sprintf("it answers with status %d", r.status)
	case r.text == "":
		return "it says " + r.code
	}
	return "it says " + r.code + " (" + r.text + ")"
}

// saysNo reports whether err is a refusal as OAuth defines it. If codes are given, it must have
// one of them.
func saysNo(err error, codes ...string) bool {
	var r *refusal
	return errors.As(err, &r) && r.code != "" && (len(codes) == 0 || slices.Contains(codes, r.code))
}

// checkStatus returns an error for an answer that cannot be used. It is a refusal if the fault
// lies with the request, and not with the server.
func checkStatus(r *auth.Response) error {
	d, err := readDocument(r)
	no := &refusal{status: r.Status}
	if err == nil {
		no.code, no.text = brief(d.text("error")), brief(d.text("error_description"))
	}
	switch {
	case r.Status >= 500 || r.Status == 429 || r.Status == 408:
		return fmt.Errorf("%w: it answers with status %d", errDown, r.Status)
	case r.Status < 200 || r.Status > 299, no.code != "":
		return no // some servers refuse with status 200
	}
	return nil
}

// readToken reads an access token response (RFC 6749, section 5.1). Its scope is
// nil if the response does not say what was granted.
func (l *login) readToken(r *auth.Response, src *source) (*token, error) {
	if err := checkStatus(r); err != nil {
		return nil, err
	}
	d, err := readDocument(r)
	if err != nil {
		return nil, err
	}
	t := &token{
		Access: d.text("access_token"), Refresh: d.text("refresh_token"), Born: l.Now().UnixMilli(), Source: *src,
	}
	if scope := d.text("scope"); scope != "" {
		t.Scope = parseScopes(scope)
	}
	if life, ok := d.seconds("expires_in"); ok {
		t.Expires = t.Born + life*1000
	}
	t.Scheme, err = l.scheme(d.text("token_type"), src)
	switch {
	case d.err != nil:
		return nil, d.err
	case err != nil:
		return nil, err
	case !isToken(t.Access):
		return nil, errors.New("there is no access token in its answer, or none that can be sent")
	}
	return t, nil
}

// assume sets the granted scopes if the authorization server has not named them: all that were
// asked for.
func (t *token) assume(scope []string) {
	if t.Scope == nil {
		t.Scope = scope
	}
}

// isToken reports whether a text can be a token in a header: it is not empty and is visible
// ASCII.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// scheme returns the scheme to send a token of that type with (RFC 6749, section 7.1: an
// unknown type is not used). A token that should be bound to a key and is not can be
// used by any holder. It is used only if the server would accept such a token from any
// client.
func (l *login) scheme(kind string, src *source) (string, error) {
	bound := src.DPoP != ""
	switch {
	case strings.EqualFold(kind, "DPoP") && bound:
		return "DPoP", nil
	case strings.EqualFold(kind, "Bearer") && !bound:
		return "Bearer", nil
	case strings.EqualFold(kind, "Bearer") && l.settings.DPoP == dpopAuto && l.wants.has("bearer"):
		return "Bearer", nil
	case strings.EqualFold(kind, "Bearer"):
		return "", errors.New("it did not bind the token to the key")
	}
	return "", fmt.Errorf("its token is of the type %q", brief(kind))
}

// secrets are the members of a form that no message may show, even if an answer repeats
// them.
var secrets = []string{
	"code", "code_verifier", "client_secret", "client_assertion", "refresh_token", "assertion", "subject_token", "device_code", "token",
}

// redact removes the words of a refusal if they contain a secret.
func (l *login) redact(err error, src *source, form url.Values) error {
	var r *refusal
	if !errors.As(err, &r) {
		return err
	}
	sent := []string{l.secretOf(src.Client)}
	for _, name := range secrets {
		sent = append(sent, form.Get(name))
	}
	for _, secret := range sent {
		if secret != "" && (strings.Contains(r.text, secret) || strings.Contains(r.code, secret)) {
			return &refusal{status: r.status, code: "an error that has a secret in it"}
		}
	}
	return err
}

// isFresh reports whether a token will last. It is renewed before its end, so that a request
// does not arrive with a token that has expired on the way. The host asks at the same time or
// later.
func (l *login) isFresh(t *token) bool {
	ahead := min(renewAhead, (t.Expires-t.Born)/2)
	return t.Expires == 0 || t.Expires-l.Now().UnixMilli() > ahead
}

const renewAhead = 90_000 // milliseconds

// use gives a token to the host.
func (l *login) use(t *token) error {
	c := auth.Credentials{Scheme: t.Scheme, Token: t.Access, ExpiresAt: t.Expires}
	if t.Scheme == "DPoP" {
		if err := l.openProofKey(t.Source.DPoP); err != nil {
			return err
		}
		c.DPoP = proofKey
	}
	l.Credentials(c)
	return nil
}

func list(words []string) string { return strings.Join(words, " ") }
