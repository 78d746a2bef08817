package host_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/signin"
)

// canary is in every secret of a fakeAS. Only the two that a secret is
// between may see it.
const canary = "c4nary-"

// canaries numbers them, so that no two fake authorization servers give out the same.
var canaries atomic.Int64

// fakeAS is an authorization server that believes everybody, and gives out one
// canary after the other. The knobs are set before it is asked.
type fakeAS struct {
	url      string
	metadata func(m map[string]any)      // changes what it says of itself
	redirect func(q url.Values)          // changes what the browser takes to the callback
	instead  map[string]http.HandlerFunc // what it answers, by path
	life     int                         // of access tokens, in seconds

	mu      sync.Mutex
	log     []asRequest
	codes   map[string]string // by code: the challenge of PKCE
	valid   map[string]bool   // access and refresh tokens
	secrets []string          // all that it has given out or was shown
}

// asRequest is a request to a fakeAS.
type asRequest struct {
	path string
	form url.Values
	auth string // Authorization
	body string
}

func newFakeAS(t *testing.T) *fakeAS {
	o := &fakeAS{instead: map[string]http.HandlerFunc{}, codes: map[string]string{}, valid: map[string]bool{}, life: 3600}
	o.url = serve(t, o)
	return o
}

func (o *fakeAS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	form, _ := url.ParseQuery(string(body))
	if r.Method == http.MethodGet {
		form = r.URL.Query()
	}
	o.mu.Lock()
	o.log = append(o.log, asRequest{r.URL.Path, form, r.Header.Get("Authorization"), string(body)})
	o.secrets = append(o.secrets, form["code_verifier"]...)
	instead := o.instead[r.URL.Path]
	o.mu.Unlock()
	if instead != nil {
		instead(w, r)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		reply(w, 200, o.describe())
	case "/register":
		reply(w, 201, map[string]any{
			"client_id": fmt.Sprint("client-", len(o.log)), "client_secret": o.issue("secret"), "token_endpoint_auth_method": "client_secret_basic",
		})
	case "/authorize":
		o.authorize(w, r, form)
	case "/token":
		o.redeem(w, form)
	case "/revoke":
		o.valid[form.Get("token")] = false
	default:
		http.NotFound(w, r)
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", mediaJSON)
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func (o *fakeAS) describe() map[string]any {
	m := map[string]any{
		"issuer": o.url, "authorization_endpoint": o.url + "/authorize", "token_endpoint": o.url + "/token",
		"registration_endpoint": o.url + "/register", "revocation_endpoint": o.url + "/revoke",
		"code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
	}
	if o.metadata != nil {
		o.metadata(m)
	}
	return m
}

// issue makes a secret. The caller holds o.mu.
func (o *fakeAS) issue(kind string) string {
	s := fmt.Sprintf("%s%s-%d", canary, kind, canaries.Add(1))
	o.secrets = append(o.secrets, s)
	return s
}

func (o *fakeAS) authorize(w http.ResponseWriter, r *http.Request, q url.Values) {
	if q.Get("code_challenge_method") != "S256" || q.Get("state") == "" {
		http.Error(w, "no challenge", http.StatusBadRequest)
		return
	}
	code := o.issue("code")
	o.codes[code] = q.Get("code_challenge")
	back := url.Values{"code": {code}, "state": q["state"]}
	if o.redirect != nil {
		o.redirect(back)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// redeem takes a code or a refresh token, each once.
func (o *fakeAS) redeem(w http.ResponseWriter, form url.Values) {
	code, old := form.Get("code"), form.Get("refresh_token")
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	proven := code != "" && o.codes[code] == base64.RawURLEncoding.EncodeToString(sum[:])
	if !proven && !o.valid[old] {
		reply(w, 400, map[string]any{"error": "invalid_grant", "error_description": "it is not " + code + old})
		return
	}
	delete(o.codes, code)
	delete(o.valid, old)
	access, next := o.issue("access"), o.issue("refresh")
	o.valid[access], o.valid[next] = true, true
	reply(w, 200, map[string]any{"access_token": access, "refresh_token": next, "token_type": "Bearer", "expires_in": o.life})
}

// admits reports whether a token is one of the fakeAS's, and good.
func (o *fakeAS) admits(token string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.HasPrefix(token, canary+"access-") && o.valid[token]
}

// expire ends the access tokens, as seen by the server that they are for.
func (o *fakeAS) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for token := range o.valid {
		o.valid[token] = o.valid[token] && !strings.HasPrefix(token, canary+"access-")
	}
}

// answer sets what it answers at a path; nil is what it does by itself.
func (o *fakeAS) answer(path string, f http.HandlerFunc) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.instead[path] = f
}

// asked returns the requests to a path.
func (o *fakeAS) asked(path string) []asRequest {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(o.log), func(e asRequest) bool { return e.path != path })
}

// protectedServer is an MCP server with a fakeAS that lets people in to it. The knobs are
// set before it is asked.
type protectedServer struct {
	site
	url      string
	fakeAS   *fakeAS
	metadata func(m map[string]any)                                       // changes what it says of itself
	refuse   func(token string, r *http.Request) (status int, why string) // in place of what the fakeAS says; 0 lets in

	mu   sync.Mutex
	seen []string // Authorization of each message
}

func newProtectedServer(t *testing.T, o *fakeAS) *protectedServer {
	w := &protectedServer{fakeAS: o}
	w.url = serve(t, w) + "/mcp"
	return w
}

func (d *protectedServer) entry(name string) host.Server { return host.Server{Name: name, URL: d.url} }

func (d *protectedServer) metadataURL() string {
	return strings.TrimSuffix(d.url, "/mcp") + "/.well-known/oauth-protected-resource/mcp"
}

func (d *protectedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	fakeAS := d.fakeAS
	d.mu.Unlock()
	if strings.HasPrefix(r.URL.Path, "/.well-known/") {
		m := map[string]any{"resource": d.url, "authorization_servers": []string{fakeAS.url}}
		if d.metadata != nil {
			d.metadata(m)
		}
		if r.Host+r.URL.Path != strings.TrimPrefix(d.metadataURL(), "http://") {
			http.NotFound(w, r)
			return
		}
		reply(w, 200, m)
		return
	}
	given := r.Header.Get("Authorization")
	d.mu.Lock()
	d.seen = append(d.seen, given)
	d.mu.Unlock()
	if status, why := d.judge(fakeAS, strings.TrimPrefix(given, "Bearer "), r); status != 0 {
		w.Header().Set("WWW-Authenticate", why)
		http.Error(w, "not with "+given, status)
		return
	}
	d.site.ServeHTTP(w, r)
}

func (d *protectedServer) judge(o *fakeAS, token string, r *http.Request) (status int, why string) {
	if d.refuse != nil {
		return d.refuse(token, r)
	}
	if o.admits(token) {
		return 0, ""
	}
	return http.StatusUnauthorized, d.challenge("")
}

// challenge names the metadata, and says more.
func (d *protectedServer) challenge(more string) string {
	return `Bearer resource_metadata="` + d.metadataURL() + `"` + more
}

// move gives the protectedServer another fakeAS.
func (d *protectedServer) move(o *fakeAS) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fakeAS = o
}

// tokens returns what the messages came with.
func (d *protectedServer) tokens() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.seen)
}

// visitor is a person who agrees to everything, in a browser that goes where it
// is sent. What they saw is known by the name of the server.
type visitor struct {
	before func(p signin.Page) // what happens before they look at the page

	mu    sync.Mutex
	pages map[string][]string
}

func (v *visitor) open(ctx context.Context, p signin.Page) error {
	v.mu.Lock()
	if v.pages == nil {
		v.pages = map[string][]string{}
	}
	v.pages[p.Server] = append(v.pages[p.Server], p.URL)
	v.mu.Unlock()
	if v.before != nil {
		v.before(p)
	}
	_, err := surf(ctx, p.URL)
	return err
}

func (v *visitor) saw(server string) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.pages[server])
}

// surf goes where a URL leads, and returns the status of the end.
func surf(ctx context.Context, address string) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, "GET", address, nil)
	if err != nil {
		return 0, err
	}
	browser := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := browser.Do(r)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

// spied is a server that nobody may call.
func spied(t *testing.T) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		t.Errorf("a request arrived where none may: %s %s %v %s", r.Method, r.URL, r.Header, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}
