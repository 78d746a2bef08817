//go:build !wasip1

package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth/authtest"
)

// The order of registration (row 17): the client of the settings, then a document,
// then registration, and a person's token where these are missing.
func TestWhichClient(t *testing.T) {
	const document = "https://conformance-test.local/client-metadata.json"
	for _, tt := range []struct {
		name       string
		settings   object
		documents  bool
		register   bool
		want       string // client_id on the page
		registered int
	}{
		{"all there is", object{"client_id": "mine", "client_metadata_url": document}, true, true, "mine", 0},
		{"a document", object{"client_metadata_url": document}, true, true, document, 0},
		{"a document that is not read", object{"client_metadata_url": document}, false, true, "registered", 1},
		{"no document", object{}, true, true, "registered", 1},
		{"nothing", object{}, true, false, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.settings = tt.settings
			w.meta["client_id_metadata_document_supported"] = tt.documents
			if !tt.register {
				delete(w.meta, "registration_endpoint")
			}
			w.host.Type = func(p *step.Prompt) (string, bool) { return " Bearer typed\n", p.Secret }
			out := w.run(step.ReasonChallenged, refused(""))
			if tt.want == "" {
				w.mustGive(out, "typed")
				return
			}
			w.mustGive(out, "token-1")
			if got, n := w.pages[0].Get("client_id"), w.called(as+"/register"); got != tt.want || n != tt.registered {
				t.Errorf("client_id is %s after %d registrations, want %s after %d", got, n, tt.want, tt.registered)
			}
		})
	}
}

func TestRegistration(t *testing.T) {
	w := newWorld(t)
	w.mustGive(w.run(step.ReasonLogin, nil), "token-1")
	var got object
	for _, r := range w.sent {
		if r.URL == as+"/register" {
			if err := json.Unmarshal([]byte(r.Body), &got); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, _ := json.Marshal(got)
	const want = `{"application_type":"native","client_name":"Wharf","grant_types":["authorization_code","refresh_token"],` +
		`"redirect_uris":["http://127.0.0.1:49152/callback"],"response_types":["code"],"software_version":"1.2.3","token_endpoint_auth_method":"none"}`
	if string(text) != want {
		t.Errorf("registers\n%s\nwant\n%s", text, want)
	}
}

func TestRegistrationThatIsRefused(t *testing.T) {
	for _, tt := range []struct {
		status int
		body   object
		class  string
		want   string
	}{
		{400, object{"error": "invalid_redirect_uri"}, step.FailConfig, "callback_host"},
		{400, object{"error": "invalid_client_metadata", "error_description": "no"}, step.FailConfig, "invalid_client_metadata (no)"},
		{500, object{}, step.FailRetry, "500"},
		{201, object{}, step.FailRetry, "client_id"},
		{201, object{"client_id": 7}, step.FailRetry, "client_id"},
		{201, object{"client_id": "x", "token_endpoint_auth_method": "tls_client_auth"}, step.FailRetry, "tls_client_auth"},
		{403, object{}, step.FailConfig, "no person to ask"}, // no prompt in this world
	} {
		w := newWorld(t)
		w.answers[as+"/register"] = func(*step.HTTP) *step.Response { return reply(tt.status, tt.body) }
		w.mustFail(w.run(step.ReasonLogin, nil), tt.class, tt.want)
	}
}

// A registered client that the authorization server has lost, or whose secret has
// expired, is registered once more, and not again and again.
func TestRegisterAgain(t *testing.T) {
	w := signedIn(t)
	lost := true
	w.grants = func(form url.Values) (int, object) {
		if form.Get("client_id") == "registered" && lost {
			return 401, object{"error": "invalid_client"}
		}
		return w.issue(form)
	}
	w.answers[as+"/register"] = func(*step.HTTP) *step.Response { return reply(201, object{"client_id": "again"}) }
	w.mustGive(w.run(step.ReasonLogin, nil), "token-2")
	if len(w.pages) != 2 || w.called(as+"/register") != 1 {
		t.Errorf("%d pages, %d registrations", len(w.pages), w.called(as+"/register"))
	}
	if n := w.savedTokens(); n != 1 {
		t.Errorf("%d tokens are saved", n)
	}

	w.grants = func(url.Values) (int, object) { return 401, object{"error": "invalid_client"} }
	w.forget()
	w.mustFail(w.run(step.ReasonLogin, nil), step.FailConfig, "client_id")
	if n := w.called(as + "/register"); n != 1 {
		t.Errorf("registered %d times", n)
	}

	w = newWorld(t)
	w.meta["token_endpoint_auth_methods_supported"] = []string{methodPost}
	w.answers[as+"/register"] = func(*step.HTTP) *step.Response {
		return reply(201, object{"client_id": "brief", "client_secret": "s", "client_secret_expires_at": w.host.Now/1000 + 60})
	}
	w.mustGive(w.run(step.ReasonLogin, nil), "token-1")
	w.host.Now += 61_000
	w.mustGive(w.run(step.ReasonLogin, nil), "token-2")
	if n := w.called(as + "/register"); n != 2 {
		t.Errorf("registered %d times", n)
	}
}

func TestClientAuthentication(t *testing.T) {
	const secret = "a b:c+d/é"
	for _, tt := range []struct {
		name      string
		settings  object
		supported any
		want      string // method; "" fails
	}{
		{"a secret, and nothing said", object{"client_secret": secret}, nil, methodBasic},
		{"a secret", object{"client_secret": secret}, []string{methodPost, methodBasic}, methodBasic},
		{"a secret for post", object{"client_secret": secret}, []string{methodPost}, methodPost},
		{"a secret that no method uses", object{"client_secret": secret}, []string{methodNone}, ""},
		{"no secret", object{}, []string{methodBasic}, methodNone},
		{"a key", object{"private_key": "pem"}, []string{methodKey}, methodKey},
		{"a key and a secret", object{"private_key": "pem", "client_secret": secret}, []string{methodBasic, methodKey}, methodKey},
		{"a key that no method uses", object{"private_key": "pem"}, []string{methodBasic}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.settings = tt.settings
			w.settings["client_id"] = "id of/mine"
			w.meta["token_endpoint_auth_methods_supported"] = tt.supported
			out := w.run(step.ReasonLogin, nil)
			if tt.want == "" {
				w.mustFail(out, step.FailConfig, "takes neither")
				return
			}
			w.mustGive(out, "token-1")
			if got := w.methodOf(w.sent[len(w.sent)-1], "id of/mine", secret); got != tt.want {
				t.Errorf("authenticates by %s, want %s", got, tt.want)
			}
		})
	}
}

// methodOf tells how a request authenticates, if it does so in exactly one way.
func (w *world) methodOf(r *step.HTTP, id, secret string) string {
	form, _ := url.ParseQuery(r.Body)
	claims, key := authtest.Claims(form.Get("client_assertion"))
	pair := base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id) + ":" + url.QueryEscape(secret)))
	var methods []string
	if r.Headers["Authorization"] == "Basic "+pair {
		methods = append(methods, methodBasic)
	}
	if form.Get("client_id") == id && form.Get("client_secret") == secret {
		methods = append(methods, methodPost)
	}
	if key == clientKey && claims["iss"] == id && claims["sub"] == id && claims["aud"] == as && claims["exp"].(float64) > claims["iat"].(float64) &&
		claims["jti"] != "" && !form.Has("client_id") {
		methods = append(methods, methodKey)
	}
	if form.Get("client_id") == id && !form.Has("client_secret") && !form.Has("client_assertion") && r.Headers["Authorization"] == "" {
		methods = append(methods, methodNone)
	}
	return strings.Join(methods, " and ")
}

// Row 7. Neither the token nor the client of one authorization server is shown to
// another that the server names later.
func TestMigration(t *testing.T) {
	const next = "https://next.example"
	w := signedIn(t)
	w.add(next)
	w.prm["authorization_servers"] = []string{next}
	w.code["iss"] = next
	out := w.run(step.ReasonChallenged, refused("token-1"))
	w.mustGive(out, "token-1")
	for _, r := range w.sent {
		if strings.HasPrefix(r.URL, as) || strings.Contains(r.Body, "refresh-1") {
			t.Errorf("%s %s %s", r.Method, r.URL, r.Body)
		}
	}
	if got := w.pages[0].Get("client_id"); got != "registered-2" || w.savedTokens() != 1 {
		t.Errorf("client_id is %s, and %d tokens are saved", got, w.savedTokens())
	}

	w = newWorld(t)
	w.settings["client_id"] = "mine"
	w.mustGive(w.run(step.ReasonLogin, nil), "token-1")
	w.add(next)
	w.prm["authorization_servers"] = []string{next}
	w.forget()
	w.mustFail(w.run(step.ReasonChallenged, refused("token-1")), step.FailConfig, next)
	if w.called(next+"/register")+w.called(next+"/token") != 0 || len(w.pages) != 0 {
		t.Error("the client was shown to the other authorization server")
	}
	// As long as the server names it, the one of last time is kept to.
	w.prm["authorization_servers"] = []string{next, as}
	w.mustGive(w.run(step.ReasonLogin, nil), "token-1")
}

// A token belongs to one server, and to the settings it was got with.
func TestTokenOfAnother(t *testing.T) {
	for name, change := range map[string]func(*world){
		"another path":   func(w *world) { w.url = "https://mcp.example/other" },
		"another client": func(w *world) { w.settings["client_id"] = "mine" },
		"another grant": func(w *world) {
			w.settings = object{"client_id": "mine", "client_secret": "x", "grant": "client_credentials"}
		},
		"another issuer": func(w *world) { w.settings["authorization_server"] = "https://next.example" },
	} {
		w := signedIn(t)
		change(w)
		if out := w.alone(step.ReasonInitial, nil); out.Credentials != nil || out.Fail != nil {
			t.Errorf("%s: %+v, %+v", name, out.Credentials, out.Fail)
		}
	}
}

// A person may type as many tokens as they like: each is another.
func TestManyTypedTokens(t *testing.T) {
	w := newWorld(t)
	w.url = "https://api.githubcopilot.com/mcp/"
	last := ""
	for i := range 2 * mostAll {
		typed := fmt.Sprint("key-", i)
		w.host.Type = func(*step.Prompt) (string, bool) { return typed, true }
		w.mustGive(w.run(step.ReasonChallenged, refused(last)), typed)
		last = typed
	}
}

func TestPersonsToken(t *testing.T) {
	w := newWorld(t)
	w.url = "https://api.githubcopilot.com/mcp/"
	var asked *step.Prompt
	typed := "ghp_1"
	w.host.Type = func(p *step.Prompt) (string, bool) { asked = p; return typed, true }
	w.mustFail(w.alone(step.ReasonChallenged, refused("")), step.FailLogin, "a person has to")
	w.mustGive(w.run(step.ReasonChallenged, refused("")), "ghp_1")
	if asked == nil || !asked.Secret || !strings.Contains(asked.Hint, "does not say who gives one out") || !strings.Contains(asked.Hint, "github.com/settings") {
		t.Errorf("asked %+v", asked)
	}
	w.mustGive(w.alone(step.ReasonInitial, nil), "ghp_1")
	no := w.alone(step.ReasonChallenged, refused("ghp_1"))
	if w.mustFail(no, step.FailLogin, "a person has to"); no.Fail.URL != "" {
		t.Errorf("what was typed came from the page %q", no.Fail.URL)
	}
	typed = "ghp_2"
	w.mustGive(w.run(step.ReasonChallenged, refused("ghp_1")), "ghp_2")
	w.mustDo(w.alone(step.ReasonLogout, nil), "load sign-in\nload token\nload token, locked\nforget token\nforget sign-in\ndone")
	typed = "two words"
	w.mustFail(w.run(step.ReasonLogin, nil), step.FailLogin, "no token")
	w.host.Type = func(*step.Prompt) (string, bool) { return "", false }
	w.mustFail(w.run(step.ReasonLogin, nil), step.FailLogin, "said no")
}

// The person hears whether there is an authorization server that has them make a token.
func TestPersonsTokenOfAnAuthorizationServer(t *testing.T) {
	w := newWorld(t)
	delete(w.meta, "registration_endpoint")
	asked := ""
	w.host.Type = func(p *step.Prompt) (string, bool) { asked = p.Hint; return "typed", true }
	w.mustGive(w.run(step.ReasonChallenged, refused("")), "typed")
	if !strings.HasPrefix(asked, "its authorization server lets no program register by itself; ") {
		t.Errorf("asked %q", asked)
	}
}
