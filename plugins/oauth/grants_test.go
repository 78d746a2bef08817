//go:build !wasip1

package main

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
)

func TestScopes(t *testing.T) {
	for _, tt := range []struct {
		name      string
		setting   []string
		challenge string
		server    any // scopes_supported of the resource
		issuer    any // scopes_supported of the authorization server
		want      string
	}{
		{"no source names a scope", nil, "", nil, nil, ""},
		{"the challenge", nil, "a b", []string{"c"}, nil, "a b"},
		{"the server", nil, "", []string{"c", "d"}, nil, "c d"},
		{"the settings", []string{"e"}, "a", []string{"c"}, nil, "e"},
		{"offline access", nil, "a", nil, []string{"a", "offline_access"}, "a offline_access"},
		{"offline access alone", nil, "", nil, []string{"offline_access"}, ""},
		{"no offline access", nil, "a", nil, []string{"a"}, "a"},
		{"what is no scope", nil, "a a \x7f b\\", nil, nil, "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			if tt.setting != nil {
				w.settings["scopes"] = tt.setting
			}
			w.prm["scopes_supported"], w.meta["scopes_supported"] = tt.server, tt.issuer
			c := refused("", "Bearer")
			if tt.challenge != "" {
				c = refused("", `Bearer scope="`+strings.ReplaceAll(tt.challenge, `\`, `\\`)+`"`)
			}
			w.mustGive(w.run(step.ReasonChallenged, c), "token-1")
			w.answers[mcp] = func(*step.HTTP) *step.Response {
				return &step.Response{Status: 401, Headers: map[string]string{"www-authenticate": c.Authenticate[0]}}
			}
			w.mustGive(w.run(step.ReasonLogin, nil), "token-2")
			if page := w.pages[1]; page.Get("scope") != tt.want {
				t.Errorf("a login asks for %q, want %q", page.Get("scope"), tt.want)
			}
			page := w.pages[0]
			if page.Get("scope") != tt.want || page.Has("scope") != (tt.want != "") {
				t.Errorf("asks for %q, want %q", page.Get("scope"), tt.want)
			}
			if offers := strings.Contains(tt.want, "offline"); offers != (page.Get("prompt") == "consent") {
				t.Errorf("prompt is %q", page.Get("prompt"))
			}
		})
	}
}

// Row 11. A step-up asks for what was asked for before as well, and comes to an
// end.
func TestStepUp(t *testing.T) {
	w := newWorld(t)
	w.mustGive(w.run(step.ReasonChallenged, refused("", `Bearer scope="a"`)), "token-1")
	w.mustFail(w.alone(step.ReasonUpscope, insufficient("token-1", "b")), step.FailLogin, "a person has to")
	w.mustGive(w.run(step.ReasonUpscope, insufficient("token-1", "b")), "token-2")
	if got := w.pages[1].Get("scope"); got != "a b" {
		t.Errorf("asks for %q", got)
	}
	// What another flow has got by now is used.
	w.mustGive(w.alone(step.ReasonUpscope, insufficient("token-1", "b")), "token-2")
	// A login that was asked for because of the challenge counts as one.
	w.mustGive(w.run(step.ReasonLogin, insufficient("token-2", "c")), "token-3")
	if got := w.pages[2].Get("scope"); got != "a b c" {
		t.Errorf("asks for %q", got)
	}
}

// What no person could answer is asked for by the next sign-in, once.
func TestStepUpWithoutAPerson(t *testing.T) {
	w := newWorld(t)
	w.mustGive(w.run(step.ReasonChallenged, refused("", `Bearer scope="a"`)), "token-1")
	asks := func(want string) {
		t.Helper()
		w.run(step.ReasonLogin, nil)
		if got := w.pages[len(w.pages)-1].Get("scope"); got != want {
			t.Errorf("asks for %q, want %q", got, want)
		}
	}
	w.mustFail(w.alone(step.ReasonUpscope, insufficient("token-1", "b")), step.FailLogin,
		"the sign-in to tracker does not have the rights for this, and a person has to give them: b sign in with these rights as well: wharf login tracker")
	w.mustFail(w.alone(step.ReasonUpscope, insufficient("token-1", "c d")), step.FailLogin, "give them: c d")
	asks("a b c d")
	asks("") // as the server says nothing now, and nothing is missing

	// The authorization server does not know what the server wants.
	w.mustFail(w.alone(step.ReasonUpscope, insufficient("token-2", "odd")), step.FailLogin, "give them: odd")
	code := w.code
	w.code = object{"error": "invalid_scope", "iss": as}
	asks("odd")
	w.code = code
	asks("")

	// The first server names no right in its challenge. The second one challenges a client that has no sign-in.
	w.mustFail(w.alone(step.ReasonUpscope, &step.Challenge{Status: 403, Token: "token-4", Authenticate: []string{`Bearer error="insufficient_scope"`}}), step.FailLogin, "a person has to give them")
	w.mustFail(newWorld(t).alone(step.ReasonUpscope, insufficient("", "b")), step.FailLogin, "a person has to sign in to tracker")
}

func TestStepUpsEnd(t *testing.T) {
	for name, scopes := range map[string][]string{
		"the same":   {"a", "a", "a", "a", "a"},
		"in turns":   {"a", "b", "a", "b", "a", "b", "a"},
		"ever new":   {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"},
		"no scope":   {"", "", "", "", ""},
		"and a wait": nil,
	} {
		w := newWorld(t)
		w.mustGive(w.run(step.ReasonChallenged, refused("", `Bearer scope="a"`)), "token-1")
		if scopes == nil {
			for range 20 {
				w.host.Now += triesReset
				out := w.run(step.ReasonUpscope, insufficient("old", "a b"))
				if out.Credentials == nil {
					t.Fatalf("%s: %+v", name, out.Fail)
				}
			}
			continue
		}
		last := "token-1"
		for _, scope := range scopes {
			out := w.run(step.ReasonUpscope, insufficient(last, scope))
			if out.Fail != nil {
				w.mustFail(out, step.FailConfig, "over and over")
				break
			}
			last = out.Credentials.Token
		}
		if n := len(w.pages); n < 3 || n > mostAll || name == "the same" && n > mostSame {
			t.Errorf("%s: %d sign-ins", name, n)
		}
	}
}

// A server that refuses each token is told apart from one that asks for more rights.
func TestRefusalsEnd(t *testing.T) {
	w := newWorld(t)
	w.settings = object{"grant": "client_credentials", "client_id": "mine", "client_secret": "s"}
	w.meta["token_endpoint_auth_methods_supported"] = []string{methodBasic}
	w.grants = func(url.Values) (int, object) {
		return 200, object{"access_token": fmt.Sprintf("token-%d", len(w.forms)), "token_type": "bearer"}
	}
	last := ""
	for range mostSame {
		w.host.Now += justNow // else the token that was just issued is refused in vain
		out := w.alone(step.ReasonChallenged, refused(last))
		if out.Credentials == nil {
			t.Fatalf("%+v", out.Fail)
		}
		last = out.Credentials.Token
	}
	w.host.Now += justNow
	w.mustFail(w.alone(step.ReasonChallenged, refused(last)), step.FailConfig, "has asked for a new sign-in several times in the last minutes")
}

func TestClientCredentials(t *testing.T) {
	w := newWorld(t)
	w.settings = object{"grant": "client_credentials", "client_id": "mine", "client_secret": "s", "scopes": []string{"a"}}
	w.meta["token_endpoint_auth_methods_supported"] = []string{methodBasic}
	delete(w.meta, "code_challenge_methods_supported") // no page is opened
	out := w.alone(step.ReasonChallenged, refused(""))
	w.mustDo(out, `load sign-in
		load binding
		http GET `+prmAt+`
		http GET `+metaAt+`
		load token, locked
		http POST `+as+`/token client_credentials
		store token
		load sign-in, locked
		store sign-in
		credentials Bearer
		done`)
	form := w.forms[0]
	if form.Get("resource") != mcp || form.Get("scope") != "a" || form.Has("code_verifier") {
		t.Errorf("asks with %v", form)
	}
	w.grants = func(form url.Values) (int, object) {
		return 200, object{"access_token": "renewed", "token_type": "Bearer"}
	}
	var saved token
	key := w.host.Vault.Keys("token")[0]
	w.host.Vault.Get(key, &saved)
	saved.Refresh = ""
	w.host.Vault.Put(key, saved)
	w.host.Now += 3_600_000
	w.mustDo(w.alone(step.ReasonExpired, nil), `load sign-in
		load token
		load token, locked
		http POST `+as+`/token client_credentials
		store token
		credentials Bearer
		done`)
	if got := w.methodOf(w.sent[len(w.sent)-1], "mine", "s"); got != methodBasic {
		t.Errorf("authenticates by %s", got)
	}
	if w.host.Vault.Get(key, &saved); strings.Contains(saved.Source.Client.Secret, "s") {
		t.Error("the secret of the settings is saved")
	}
	w.mustFail(w.alone(step.ReasonChallenged, refused("renewed")), step.FailConfig, "just issued")
}

// Of several flows the first gets the token for the rest.
func TestMachinesWait(t *testing.T) {
	w := newWorld(t)
	w.settings = object{"grant": "client_credentials", "client_id": "mine", "client_secret": "s"}
	w.meta["token_endpoint_auth_methods_supported"] = []string{methodBasic}
	w.host.Vault.Locking = func(key step.RecordKey) {
		w.host.Vault.Put(key, token{Access: "theirs", Scheme: "Bearer", Source: source{Issuer: as, Client: client{ID: "mine"}}})
	}
	w.mustGive(w.alone(step.ReasonChallenged, refused("")), "theirs")
	w.mustGive(w.alone(step.ReasonChallenged, refused("theirs")), "token-1") // what is refused is not taken
}

// A workload has one way to sign in; when it is refused, that is the end.
func TestWorkload(t *testing.T) {
	w := newWorld(t)
	w.settings = object{"grant": "jwt_bearer", "client_id": "workload", "jwt": "c4nary.jwt\n"}
	w.mustGive(w.alone(step.ReasonChallenged, refused("")), "token-1")
	if form := w.forms[0]; form.Get("grant_type") != assertionGrant || form.Get("assertion") != "c4nary.jwt" || form.Get("client_id") != "workload" || form.Get("resource") != mcp {
		t.Errorf("asks with %v", form)
	}
	for _, code := range []string{"invalid_grant", "invalid_scope", "unauthorized_client"} {
		w = newWorld(t)
		w.settings = object{"grant": "jwt_bearer", "jwt": "c4nary.jwt"}
		w.grants = func(form url.Values) (int, object) {
			return 400, object{"error": code, "error_description": "bad " + form.Get("assertion")}
		}
		out := w.run(step.ReasonChallenged, refused(""))
		w.mustFail(out, step.FailConfig, as)
		if len(w.forms) != 1 || len(w.pages) != 0 || strings.Contains(out.Fail.Message, "c4nary") {
			t.Errorf("%d requests, %d pages: %s", len(w.forms), len(w.pages), out.Fail.Message)
		}
	}
}

func TestEnterprise(t *testing.T) {
	const idp = "https://idp.example/token"
	w := newWorld(t)
	w.settings = object{
		"grant": "enterprise", "client_id": "mine", "client_secret": "s",
		"id_token": "the-id-token", "idp_client_id": "at-idp", "idp_token_endpoint": idp,
	}
	w.meta["token_endpoint_auth_methods_supported"] = []string{methodBasic}
	var exchange url.Values
	good := object{"access_token": "the-jag", "issued_token_type": typeIDJAG, "token_type": "N_A"}
	status, body := 200, good
	w.answers[idp] = func(r *step.HTTP) *step.Response {
		exchange, _ = url.ParseQuery(r.Body)
		return reply(status, body)
	}
	w.mustGive(w.alone(step.ReasonChallenged, refused("")), "token-1")
	for name, want := range map[string]string{
		"grant_type": exchangeGrant, "requested_token_type": typeIDJAG, "audience": as, "resource": mcp,
		"subject_token": "the-id-token", "subject_token_type": typeIDToken, "client_id": "at-idp",
	} {
		if exchange.Get(name) != want {
			t.Errorf("%s is %q in the exchange, want %q", name, exchange.Get(name), want)
		}
	}
	if form := w.forms[0]; form.Get("grant_type") != assertionGrant || form.Get("assertion") != "the-jag" || w.methodOf(w.sent[len(w.sent)-1], "mine", "s") != methodBasic {
		t.Errorf("asks with %v", form)
	}
	for _, tt := range []struct {
		status int
		body   object
		class  string
	}{
		{400, object{"error": "invalid_grant", "error_description": "the-id-token is old"}, step.FailConfig},
		{502, object{}, step.FailRetry},
		{200, object{"access_token": "x", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "token_type": "N_A"}, step.FailRetry},
		{200, object{"access_token": "x", "issued_token_type": typeIDJAG, "token_type": "Bearer"}, step.FailRetry},
	} {
		status, body = tt.status, tt.body
		w.forget()
		out := w.alone(step.ReasonLogin, nil)
		w.mustFail(out, tt.class, "ID token")
		if len(w.forms) != 0 || strings.Contains(out.Fail.Message, "the-id-token") {
			t.Errorf("%+v: %s", tt, out.Fail.Message)
		}
	}
}

func TestProofs(t *testing.T) {
	for _, tt := range []struct {
		name      string
		setting   string
		challenge []string
		algs      any
		gives     string // token_type
		want      string // scheme; "" fails
		alg       string
	}{
		{"the server wants it", "auto", []string{"DPoP algs=\"ES256\""}, []string{"ES256"}, "DPoP", "DPoP", "ES256"},
		{"only the authorization server can", "auto", []string{"Bearer"}, []string{"ES256"}, "Bearer", "Bearer", ""},
		{"the settings want it", "on", nil, nil, "dpop", "DPoP", "ES256"},
		{"the settings do not", "off", []string{"DPoP"}, []string{"ES256"}, "Bearer", "Bearer", ""},
		{"another algorithm", "on", nil, []string{"ES512", "RS256", "EdDSA"}, "DPoP", "DPoP", "EdDSA"},
		{"no algorithm of ours", "on", nil, []string{"ES512"}, "DPoP", "", ""},
		{"it is not bound", "auto", []string{"DPoP"}, nil, "Bearer", "", "ES256"},
		{"it is not bound, and need not be", "auto", []string{"DPoP", "Bearer"}, nil, "Bearer", "Bearer", "ES256"},
		{"it is not bound, and should be", "on", []string{"DPoP", "Bearer"}, nil, "Bearer", "", "ES256"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.settings["dpop"] = tt.setting
			w.meta["dpop_signing_alg_values_supported"] = tt.algs
			w.grants = func(form url.Values) (int, object) {
				status, body := w.issue(form)
				body["token_type"] = tt.gives
				return status, body
			}
			out := w.run(step.ReasonChallenged, refused("", tt.challenge...))
			if opened := slices.Contains(out.Lines, "key open dpop "+tt.alg); opened != (tt.alg != "") {
				t.Errorf("the flow went %q", out.Lines)
			}
			if tt.want == "" {
				if out.Fail == nil || w.savedTokens() != 0 {
					t.Errorf("gave %+v", out.Credentials)
				}
				return
			}
			w.mustGive(out, "token-1")
			if out.Credentials.Scheme != tt.want || (out.Credentials.DPoP != "") != (tt.want == "DPoP") {
				t.Errorf("gave %+v", out.Credentials)
			}
			if proved := slices.ContainsFunc(w.sent, func(r *step.HTTP) bool { return r.DPoP != "" }); proved != (tt.alg != "") {
				t.Errorf("proved: %v", proved)
			}
		})
	}
}

// The key comes before the proof also where the flow begins with a saved token.
func TestProofOfSavedToken(t *testing.T) {
	w := newWorld(t)
	w.settings["dpop"] = "on"
	w.grants = func(form url.Values) (int, object) {
		status, body := w.issue(form)
		body["token_type"] = "DPoP"
		return status, body
	}
	w.mustGive(w.run(step.ReasonLogin, nil), "token-1")
	w.mustDo(w.alone(step.ReasonInitial, nil), "load sign-in\nload token\nkey open dpop ES256\ncredentials DPoP\ndone")
	w.host.Now += 3_600_000
	w.mustDo(w.alone(step.ReasonExpired, nil), `load sign-in
		load token
		load token, locked
		key open dpop ES256
		http POST `+as+`/token refresh_token +dpop
		store token
		credentials DPoP
		done`)
}

// withDevice is a world whose person types a code after some rounds.
func withDevice(t *testing.T, rounds ...string) *world {
	w := newWorld(t)
	w.settings["grant"] = "device_code"
	w.meta["device_authorization_endpoint"] = as + "/device"
	w.answers[as+"/device"] = func(*step.HTTP) *step.Response {
		return reply(200, object{"device_code": "c4nary", "user_code": "ABCD-EFGH", "verification_uri": as + "/go", "expires_in": 900, "interval": 5})
	}
	w.grants = func(form url.Values) (int, object) {
		if form.Get("device_code") != "c4nary" {
			t.Errorf("polls with %v", form)
		}
		if n := len(w.forms) - 1; n < len(rounds) {
			if rounds[n] == "network" {
				return 0, nil
			}
			return 400, object{"error": rounds[n]}
		}
		return w.issue(form)
	}
	return w
}

func TestDeviceCode(t *testing.T) {
	w := withDevice(t, "authorization_pending", "slow_down", "network")
	out := w.run(step.ReasonChallenged, refused(""))
	w.mustDo(out, `load sign-in
		load binding
		http GET `+prmAt+`
		http GET `+metaAt+`
		load registration
		http POST `+as+`/register
		store registration
		http POST `+as+`/device
		show ABCD-EFGH
		wait 5000
		http POST `+as+`/token `+deviceGrant+`
		wait 5000
		http POST `+as+`/token `+deviceGrant+`
		wait 10000
		http POST `+as+`/token `+deviceGrant+`
		wait 15000
		http POST `+as+`/token `+deviceGrant+`
		store token
		load sign-in, locked
		store sign-in
		credentials Bearer
		done`)
}

func TestDeviceCodeEnds(t *testing.T) {
	for code, class := range map[string]string{"access_denied": step.FailLogin, "expired_token": step.FailLogin, "invalid_request": step.FailConfig} {
		w := withDevice(t, "authorization_pending", code)
		w.mustFail(w.run(step.ReasonLogin, nil), class, code)
	}
	// Half an hour of rounds has room in the bounds of a flow.
	forever := slices.Repeat([]string{"authorization_pending"}, 1000)
	w := withDevice(t, forever...)
	out := w.run(step.ReasonLogin, nil)
	w.mustFail(out, step.FailLogin, "in time")
	if len(w.forms) != 180 || out.Largest > step.MaxState/20 {
		t.Errorf("%d rounds, and a state of %d bytes", len(w.forms), out.Largest)
	}
	w = withDevice(t)
	w.mustFail(w.alone(step.ReasonChallenged, refused("")), step.FailLogin, "a person has to")
}

// Where nothing can be shown but a code, a code it is.
func TestDeviceCodeWithoutBrowser(t *testing.T) {
	w := withDevice(t)
	delete(w.settings, "grant")
	w.mustGive(w.start(step.Start{Reason: step.ReasonLogin, Interactive: true}), "token-1")
	w = newWorld(t)
	w.settings["grant"] = "device_code"
	w.mustFail(w.run(step.ReasonLogin, nil), step.FailConfig, "no device codes")
}

func TestDeviceResponsesThatAreWrong(t *testing.T) {
	for name, value := range map[string]any{
		"device_code": "", "user_code": 7, "verification_uri": "http://as.example/go", "verification_uri_complete": "javascript:1", "interval": "soon",
	} {
		w := withDevice(t)
		answer := w.answers[as+"/device"]
		w.answers[as+"/device"] = func(r *step.HTTP) *step.Response {
			out := answer(r)
			d, _ := parseDocument(out.Body)
			body := object{}
			for name, raw := range d.members {
				body[name] = raw
			}
			body[name] = value
			return reply(200, body)
		}
		w.mustFail(w.run(step.ReasonLogin, nil), step.FailRetry, as)
	}
}
