//go:build !wasip1

package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth/authtest"
)

const (
	mcp    = "https://mcp.example/mcp"
	as     = "https://as.example"
	prmAt  = "https://mcp.example/.well-known/oauth-protected-resource/mcp"
	prmTop = "https://mcp.example/.well-known/oauth-protected-resource"
	metaAt = as + "/.well-known/oauth-authorization-server"
	oidcAt = as + "/.well-known/openid-configuration"

	begin = int64(1_800_000_000_000)
)

type object = map[string]any

// world is a server with its authorization server, and a person who signs in. A
// test changes what it needs to.
type world struct {
	t        *testing.T
	host     authtest.Host
	url      string
	settings object
	code     object // more of what comes to the callback
	answers  map[string]func(*step.HTTP) *step.Response
	meta     object // of the authorization server
	prm      object
	grants   func(form url.Values) (int, object) // the token endpoint

	sent  []*step.HTTP // all that went out
	forms []url.Values // to the token endpoint
	pages []url.Values // that the person has seen
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, url: mcp, settings: object{}, code: object{}}
	w.prm = object{"resource": mcp, "authorization_servers": []string{as}}
	w.meta = object{
		"issuer": as, "authorization_endpoint": as + "/authorize", "token_endpoint": as + "/token",
		"registration_endpoint": as + "/register", "revocation_endpoint": as + "/revoke",
		"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		"authorization_response_iss_parameter_supported": true,
	}
	w.code = object{"code": "the-code", "iss": as}
	w.grants = w.issue
	w.answers = map[string]func(*step.HTTP) *step.Response{
		prmAt:            func(*step.HTTP) *step.Response { return reply(200, w.prm) },
		metaAt:           func(*step.HTTP) *step.Response { return reply(200, w.meta) },
		as + "/token":    w.token,
		as + "/revoke":   func(*step.HTTP) *step.Response { return reply(200, object{}) },
		as + "/register": func(*step.HTTP) *step.Response { return reply(201, object{"client_id": "registered"}) },
	}
	w.host = authtest.Host{Now: begin, Serve: w.serve, Browse: w.browse}
	return w
}

func reply(status int, body any) *step.Response {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return &step.Response{Status: status, Body: string(text), Headers: map[string]string{"content-type": "application/json; charset=utf-8"}}
}

func (w *world) serve(r *step.HTTP) *step.Response {
	w.sent = append(w.sent, r)
	if answer := w.answers[r.URL]; answer != nil {
		return answer(r)
	}
	return &step.Response{Status: 404, Headers: map[string]string{"content-type": "text/html"}, Body: "<p>not found"}
}

func (w *world) browse(page *url.URL) map[string]string {
	w.pages = append(w.pages, page.Query())
	params := map[string]string{}
	for name, value := range w.code {
		params[name] = value.(string)
	}
	return params
}

func (w *world) token(r *step.HTTP) *step.Response {
	form, err := url.ParseQuery(r.Body)
	if err != nil {
		w.t.Error(err)
	}
	w.forms = append(w.forms, form)
	status, body := w.grants(form)
	if status == 0 {
		return nil
	}
	return reply(status, body)
}

// issue gives out token-1, token-2, …, and holds a code to its challenge.
func (w *world) issue(form url.Values) (int, object) {
	n := len(w.forms)
	if form.Get("grant_type") == grantCode {
		sum := sha256.Sum256([]byte(form.Get("code_verifier")))
		challenge := base64.RawURLEncoding.EncodeToString(sum[:])
		if page := w.pages[len(w.pages)-1]; page.Get("code_challenge") != challenge || form.Get("code") != "the-code" {
			return 400, object{"error": "invalid_grant"}
		}
	}
	return 200, object{
		"access_token": fmt.Sprintf("token-%d", n), "refresh_token": fmt.Sprintf("refresh-%d", n),
		"token_type": "bearer", "expires_in": 3600,
	}
}

// run asks the provider, with a person at the screen unless the reason is one
// where no person is.
func (w *world) run(reason string, challenge *step.Challenge) *authtest.Outcome {
	w.t.Helper()
	return w.start(step.Start{Reason: reason, Interactive: true, Browser: true, Challenge: challenge})
}

// alone is run without a person.
func (w *world) alone(reason string, challenge *step.Challenge) *authtest.Outcome {
	w.t.Helper()
	return w.start(step.Start{Reason: reason, Challenge: challenge})
}

func (w *world) start(s step.Start) *authtest.Outcome {
	w.t.Helper()
	settings, err := json.Marshal(w.settings)
	if err != nil {
		w.t.Fatal(err)
	}
	s.Server = step.Server{Name: "tracker", URL: w.url, Resource: strings.TrimSuffix(w.url, "/")}
	s.Settings, s.Client = settings, step.Client{Name: "Wharf", Version: "1.2.3"}
	w.host.Now += 1000
	out, err := w.host.Run(oauth{}, s)
	if err != nil {
		w.t.Fatalf("%v\n%s", err, strings.Join(out.Lines, "\n"))
	}
	return out
}

// refused is a 401 for a token; "" if none was sent.
func refused(token string, fields ...string) *step.Challenge {
	return &step.Challenge{Status: 401, Token: token, Authenticate: fields}
}

// insufficient is a 403 for a token that is good, and not enough.
func insufficient(token, scope string) *step.Challenge {
	field := fmt.Sprintf(`Bearer error="insufficient_scope", scope=%q`, scope)
	return &step.Challenge{Status: 403, Token: token, Authenticate: []string{field}}
}

// signedIn is a world where the person has signed in, to token-1.
func signedIn(t *testing.T) *world {
	w := newWorld(t)
	w.mustGive(w.run(step.ReasonChallenged, refused("")), "token-1")
	w.forget()
	return w
}

// forget begins the notes anew.
func (w *world) forget() { w.sent, w.forms, w.pages = nil, nil, nil }

func (w *world) mustGive(out *authtest.Outcome, token string) {
	w.t.Helper()
	if out.Fail != nil || out.Credentials == nil || out.Credentials.Token != token {
		w.t.Fatalf("want %s, got %+v, fail %+v\n%s", token, out.Credentials, out.Fail, strings.Join(out.Lines, "\n"))
	}
}

// mustFail wants a failure of a class, with a text in its message or hint.
func (w *world) mustFail(out *authtest.Outcome, class, text string) {
	w.t.Helper()
	if out.Fail == nil || out.Fail.Class != class || !strings.Contains(out.Fail.Message+" "+out.Fail.Hint, text) {
		w.t.Fatalf("want fail %s with %q, got %+v, credentials %+v\n%s", class, text, out.Fail, out.Credentials, strings.Join(out.Lines, "\n"))
	}
	if out.Credentials != nil {
		w.t.Fatalf("a failure comes with credentials %+v", out.Credentials)
	}
}

func (w *world) mustDo(out *authtest.Outcome, lines string) {
	w.t.Helper()
	want := strings.Split(strings.TrimSpace(strings.ReplaceAll(lines, "\t", "")), "\n")
	if !slices.Equal(out.Lines, want) {
		w.t.Fatalf("the flow went\n%s\nand not\n%s\nfail: %+v", strings.Join(out.Lines, "\n"), strings.Join(want, "\n"), out.Fail)
	}
}

func (w *world) called(prefix string) int {
	n := 0
	for _, r := range w.sent {
		if strings.HasPrefix(r.URL, prefix) {
			n++
		}
	}
	return n
}

// add gives the world another authorization server beside the first, with the
// same metadata but for its addresses.
func (w *world) add(issuer string) object {
	meta := maps.Clone(w.meta)
	for name, value := range meta {
		if text, ok := value.(string); ok {
			meta[name] = strings.Replace(text, as, issuer, 1)
		}
	}
	w.answers[issuer+"/.well-known/oauth-authorization-server"] = func(*step.HTTP) *step.Response { return reply(200, meta) }
	w.answers[issuer+"/token"] = w.token
	w.answers[issuer+"/register"] = func(*step.HTTP) *step.Response { return reply(201, object{"client_id": "registered-2"}) }
	return meta
}

func (w *world) savedTokens() int { return len(w.host.Vault.Keys("token")) }

func parse(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}
