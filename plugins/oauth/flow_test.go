//go:build !wasip1

package main

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
)

// The flows of package step, line by line.
func TestSignInByBrowser(t *testing.T) {
	w := newWorld(t)
	w.mustDo(w.alone(step.ReasonInitial, nil), "load sign-in\nload binding\ndone")
	w.mustDo(w.alone(step.ReasonChallenged, refused("")), `load sign-in
		load binding
		http GET `+prmAt+`
		http GET `+metaAt+`
		fail login`)
	out := w.run(step.ReasonChallenged, refused(""))
	w.mustDo(out, `load sign-in
		load binding
		http GET `+prmAt+`
		http GET `+metaAt+`
		load registration
		listen
		http POST `+as+`/register
		store registration
		open_browser `+as+`/authorize
		http POST `+as+`/token authorization_code
		store token
		load sign-in, locked
		store sign-in
		credentials Bearer
		done`)
	w.mustGive(out, "token-1")
	page := w.pages[0]
	for name, want := range map[string]string{
		"response_type": "code", "client_id": "registered", "redirect_uri": "http://127.0.0.1:49152/callback",
		"code_challenge_method": "S256", "resource": mcp, "scope": "", "prompt": "",
	} {
		if page.Get(name) != want {
			t.Errorf("%s is %q on the page, want %q", name, page.Get(name), want)
		}
	}
	if verifier := w.forms[0].Get("code_verifier"); len(verifier) != 43 {
		t.Errorf("the verifier has %d characters", len(verifier))
	}
	if got := w.forms[0].Get("resource"); got != mcp {
		t.Errorf("resource is %q in the token request", got)
	}
	if out.Credentials.ExpiresAt != w.host.Now+3_600_000 {
		t.Errorf("expires at %d", out.Credentials.ExpiresAt)
	}
}

func TestSavedLogin(t *testing.T) {
	w := signedIn(t)
	for _, reason := range []string{step.ReasonInitial, step.ReasonExpired} {
		out := w.alone(reason, nil)
		w.mustDo(out, "load sign-in\nload token\ncredentials Bearer\ndone")
		w.mustGive(out, "token-1")
	}
	w.host.Now += 3_600_000
	out := w.alone(step.ReasonExpired, nil)
	w.mustDo(out, `load sign-in
		load token
		load token, locked
		http POST `+as+`/token refresh_token
		store token
		credentials Bearer
		done`)
	w.mustGive(out, "token-1") // the first that is issued since forget
	form := w.forms[0]
	if form.Get("refresh_token") != "refresh-1" || form.Get("resource") != mcp || form.Get("client_id") != "registered" {
		t.Errorf("refresh with %v", form)
	}
}

// Another process has been faster: what it has stored is taken, and the refresh
// token that it has used up is not sent.
func TestRefreshAdopts(t *testing.T) {
	w := signedIn(t)
	w.host.Now += 3_600_000
	w.host.Vault.Locking = func(key step.RecordKey) {
		var newer token
		w.host.Vault.Get(key, &newer)
		newer.Access, newer.Refresh, newer.Born, newer.Expires = "theirs", "theirs-too", w.host.Now, w.host.Now+3_600_000
		w.host.Vault.Put(key, newer)
	}
	out := w.alone(step.ReasonExpired, nil)
	w.mustDo(out, "load sign-in\nload token\nload token, locked\ncredentials Bearer\ndone")
	w.mustGive(out, "theirs")
}

func TestRefreshThatFails(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		body   object
		lines  string
		kept   int
	}{
		{"invalid_grant", 400, object{"error": "invalid_grant"}, "forget token\ndone", 0},
		{"invalid_client of a registered one", 401, object{"error": "invalid_client"}, "load registration\nforget registration\nforget token\ndone", 0},
		{"no with status 200", 200, object{"error": "bad_refresh_token"}, "forget token\ndone", 0},
		{"no in other words", 404, object{}, "fail login", 1},
		{"down", 503, object{"error": "invalid_grant"}, "fail retry", 1},
		{"too many", 429, object{}, "fail retry", 1},
		{"no network", 0, nil, "fail retry", 1},
		{"no token in it", 200, object{"token_type": "Bearer"}, "fail retry", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := signedIn(t)
			w.host.Now += 3_600_000
			w.grants = func(url.Values) (int, object) { return tt.status, tt.body }
			out := w.alone(step.ReasonExpired, nil)
			w.mustDo(out, "load sign-in\nload token\nload token, locked\nhttp POST "+as+"/token refresh_token\n"+tt.lines)
			if n := w.savedTokens(); n != tt.kept {
				t.Errorf("%d tokens are kept, want %d", n, tt.kept)
			}
			if no := out.Fail; no != nil && (no.URL == as) != (no.Class == step.FailLogin) {
				t.Errorf("a person would sign in at %q", no.URL)
			}
		})
	}
}

// What is forgotten is the token that was sent, and not one that was
// stored meanwhile.
func TestRefreshForgetsWhatItSent(t *testing.T) {
	w := signedIn(t)
	w.host.Now += 3_600_000
	key := w.host.Vault.Keys("token")[0]
	w.grants = func(url.Values) (int, object) {
		w.host.Vault.Put(key, token{Access: "theirs", Scheme: "Bearer"})
		return 400, object{"error": "invalid_grant"}
	}
	w.alone(step.ReasonExpired, nil)
	var left token
	if !w.host.Vault.Get(key, &left) || left.Access != "theirs" {
		t.Errorf("left is %+v", left)
	}
}

// The sign-in after a refresh that a lost client could not make registers another client, and
// opens no page with the lost one. A client that was registered meanwhile is used.
func TestRegisterAfterRefresh(t *testing.T) {
	for _, newer := range []bool{false, true} {
		w, registered := signedIn(t), 1
		w.host.Now += 3_600_000
		w.grants = func(form url.Values) (int, object) {
			if form.Get("client_id") == "registered" {
				return 401, object{"error": "invalid_client"}
			}
			return w.issue(form)
		}
		w.answers[as+"/register"] = func(*step.HTTP) *step.Response { return reply(201, object{"client_id": "again"}) }
		if newer {
			key, c := registrationKey(as), client{}
			w.host.Vault.Get(key, &c)
			c.ID, registered = "again", 0
			w.host.Vault.Put(key, c)
		}
		w.alone(step.ReasonExpired, nil)
		pages := len(w.pages)
		w.mustGive(w.run(step.ReasonLogin, nil), "token-2")
		if n := w.called(as + "/register"); n != registered || len(w.pages) != pages+1 {
			t.Errorf("%d registrations, want %d; %d pages", n, registered, len(w.pages)-pages)
		}
	}
}

func TestRotationIsOptional(t *testing.T) {
	w := signedIn(t)
	w.host.Now += 3_600_000
	w.grants = func(url.Values) (int, object) {
		return 200, object{"access_token": "renewed", "token_type": "Bearer", "expires_in": "60"}
	}
	w.mustGive(w.alone(step.ReasonExpired, nil), "renewed")
	var left token
	if w.host.Vault.Get(w.host.Vault.Keys("token")[0], &left); left.Refresh != "refresh-1" || left.Expires-left.Born != 60_000 {
		t.Errorf("left is %+v", left)
	}
}

// A token that was refused is renewed without a person, once the server has said
// that it still belongs to the same authorization server.
func TestRefusedToken(t *testing.T) {
	w := signedIn(t)
	w.host.Now += triesReset
	out := w.alone(step.ReasonChallenged, refused("token-1"))
	w.mustDo(out, `load sign-in
		load token
		http GET `+prmAt+`
		http GET `+metaAt+`
		load token, locked
		http POST `+as+`/token refresh_token
		store token
		credentials Bearer
		done`)
	// One that is refused although it is new: no person has signed in for it lately,
	// so where a person waits, it is theirs to replace.
	var now token
	w.host.Vault.Get(w.host.Vault.Keys("token")[0], &now)
	w.mustGive(w.run(step.ReasonChallenged, refused(now.Access)), "token-2")
	if len(w.pages) != 1 {
		t.Errorf("the person was asked %d times", len(w.pages))
	}
	// One that is not the one of the vault says nothing against it.
	w.mustDo(w.alone(step.ReasonChallenged, refused("an-old-one")), "load sign-in\nload token\ncredentials Bearer\ndone")
}

func TestAlwaysRefused(t *testing.T) {
	w := newWorld(t)
	w.grants = func(url.Values) (int, object) {
		return 200, object{"access_token": "token", "token_type": "Bearer"}
	}
	w.mustGive(w.run(step.ReasonChallenged, refused("")), "token")
	w.mustFail(w.run(step.ReasonChallenged, refused("token")), step.FailConfig, "just issued")
	if len(w.pages) != 1 {
		t.Errorf("the person was asked %d times", len(w.pages))
	}
	w.mustGive(w.run(step.ReasonLogin, nil), "token")
	w.host.Now += 100_000
	w.mustGive(w.run(step.ReasonChallenged, refused("token")), "token")
}

// Nothing that could mix tokens up is missing from their key (row 7).
func TestKeysOfRecords(t *testing.T) {
	w := signedIn(t)
	for _, want := range []step.RecordKey{
		{Name: "token", Issuer: as, Resource: mcp, Client: "registered"}, {Name: "sign-in", Resource: mcp}, {Name: "registration", Issuer: as},
	} {
		if got := w.host.Vault.Keys(want.Name); len(got) != 1 || got[0] != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

// The key of a token has a list: the client, and what tells the entry from others. A comma of a client's name is none of
// that list.
func TestKeyOfAToken(t *testing.T) {
	for client, want := range map[string]string{"a": "a, account=b", "a, account=b": "a,, account=b, account=b"} {
		w := newWorld(t)
		w.settings = object{"account": "b"}
		w.answers[as+"/register"] = func(*step.HTTP) *step.Response { return reply(201, object{"client_id": client}) }
		w.mustGive(w.run(step.ReasonLogin, nil), "token-1")
		if got := w.host.Vault.Keys("token"); len(got) != 1 || got[0].Client != want {
			t.Errorf("%q: got %+v, want the client %q", client, got, want)
		}
	}
}

func TestLogout(t *testing.T) {
	w := signedIn(t)
	out := w.alone(step.ReasonLogout, nil)
	w.mustDo(out, `load sign-in
		load token
		load token, locked
		http POST `+as+`/revoke
		http POST `+as+`/revoke
		forget token
		forget sign-in
		done`)
	if !strings.Contains(w.sent[0].Body, "token=refresh-1") || !strings.Contains(w.sent[1].Body, "token=token-1") {
		t.Errorf("revoked %s, %s", w.sent[0].Body, w.sent[1].Body)
	}
	w.mustDo(w.alone(step.ReasonLogout, nil), "load sign-in\nload binding\ndone")
	w.mustDo(w.alone(step.ReasonInitial, nil), "load sign-in\nload binding\ndone")
}

// Of two sign-ins at once, each with a client of its own, the later one stays, and a sign-out leaves nothing.
func TestTwoSignInsAtOnce(t *testing.T) {
	other := newWorld(t)
	other.answers[as+"/register"] = func(*step.HTTP) *step.Response { return reply(201, object{"client_id": "theirs"}) }
	other.grants = func(url.Values) (int, object) {
		return 200, object{"access_token": "their-token", "refresh_token": "their-refresh", "token_type": "bearer"}
	}
	other.mustGive(other.run(step.ReasonChallenged, refused("")), "their-token")
	w := newWorld(t)
	w.host.Vault.Locking = func(step.RecordKey) { // the other process has stored its sign-in
		for _, name := range []string{"token", "sign-in"} {
			for _, key := range other.host.Vault.Keys(name) {
				var record json.RawMessage
				other.host.Vault.Get(key, &record)
				w.host.Vault.Put(key, record)
			}
		}
		w.host.Vault.Locking = nil
	}
	w.mustGive(w.run(step.ReasonChallenged, refused("")), "token-1")
	if keys := w.host.Vault.Keys("token"); len(keys) != 1 || keys[0].Client != "registered" {
		t.Errorf("kept %+v", keys)
	}
	if last := w.sent[len(w.sent)-2:]; !strings.Contains(last[0].Body, "token=their-refresh") || !strings.Contains(last[1].Body, "token=their-token") {
		t.Errorf("revoked %s, %s", last[0].Body, last[1].Body)
	}
	w.mustGive(w.alone(step.ReasonInitial, nil), "token-1")
	w.alone(step.ReasonLogout, nil)
	if n := w.savedTokens(); n != 0 {
		t.Errorf("%d tokens are left", n)
	}
}

// A person who signs in gets a new token, whatever is saved.
func TestLoginAnew(t *testing.T) {
	w := signedIn(t)
	w.mustGive(w.run(step.ReasonLogin, nil), "token-1")
	if len(w.pages) != 1 || w.called(as+"/register") != 0 {
		t.Errorf("%d pages, %d registrations", len(w.pages), w.called(as+"/register"))
	}
}

// A person may sign in before any request was refused. The server is asked for its challenge then, and only a 401 has one.
func TestLoginProvokesAChallenge(t *testing.T) {
	for status, scope := range map[int]string{401: "read", 200: "", 403: ""} {
		w := newWorld(t)
		w.answers[mcp] = func(r *step.HTTP) *step.Response {
			if r.Method != "POST" || r.Body != `{"jsonrpc":"2.0","id":1,"method":"ping"}` || r.Headers["Content-Type"] != "application/json" ||
				!strings.Contains(r.Headers["Accept"], "text/event-stream") || r.Headers["Authorization"] != "" {
				t.Errorf("sent %+v", r)
			}
			return &step.Response{Status: status, Headers: map[string]string{"www-authenticate": `Bearer scope="read"`}}
		}
		w.mustGive(w.run(step.ReasonLogin, nil), "token-1")
		if got := w.pages[0].Get("scope"); got != scope || w.called(mcp) != 1 {
			t.Errorf("%d: asked %d times, and signed in for %q", status, w.called(mcp), got)
		}
		w.mustGive(w.run(step.ReasonLogin, refused("token-1")), "token-2")
		if w.called(mcp) != 1 {
			t.Errorf("%d: a challenge that was there was asked for", status)
		}
	}
}

// Only a person who asks to sign in has the server asked for its challenge: a request was refused for each other reason.
func TestOnlyALoginProvokesAChallenge(t *testing.T) {
	for _, reason := range []string{step.ReasonChallenged, step.ReasonUpscope, step.ReasonInitial, step.ReasonExpired} {
		w := newWorld(t)
		w.answers[mcp] = func(*step.HTTP) *step.Response {
			return &step.Response{Status: 401, Headers: map[string]string{"www-authenticate": `Bearer scope="read"`}}
		}
		w.run(reason, nil)
		if n := w.called(mcp); n != 0 {
			t.Errorf("%s: the server was asked for its challenge %d times", reason, n)
		}
	}
}

func TestPersonSaysNo(t *testing.T) {
	w := newWorld(t)
	w.host.Browse = nil
	w.mustFail(w.run(step.ReasonLogin, nil), step.FailConfig, "no person")

	// A person who closes the page may have read there that the client is unknown.
	w = signedIn(t)
	sees := w.host.Browse
	w.host.Browse = func(*url.URL) map[string]string { return nil }
	w.mustFail(w.run(step.ReasonLogin, nil), step.FailLogin, "closed")
	w.host.Browse = sees
	w.mustGive(w.run(step.ReasonLogin, nil), "token-1")
	if w.called(as+"/register") != 1 {
		t.Error("the client was not registered anew")
	}
}

func TestAuthorizationErrors(t *testing.T) {
	for code, class := range map[string]string{
		"access_denied": step.FailLogin, "server_error": step.FailRetry, "temporarily_unavailable": step.FailRetry,
		"invalid_scope": step.FailConfig, "invalid_target": step.FailConfig, "odd": step.FailConfig,
	} {
		w := newWorld(t)
		w.code = object{"error": code, "error_description": "why\n\x1b[31m it is", "iss": as}
		w.mustFail(w.run(step.ReasonLogin, nil), class, code+" (why[31m it is)")
		if len(w.forms) != 0 {
			t.Error("a token was asked for")
		}
	}
}
