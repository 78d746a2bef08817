package oauth_test

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/host/gateway"
	"github.com/wharf-mcp/wharf/host/gateway/oauth"
	"github.com/wharf-mcp/wharf/internal/certtest"
	"github.com/wharf-mcp/wharf/internal/oauthtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ours = "https://mcp.example.com"

// newIssuer returns an issuer that signs tokens, and a resource server that accepts them.
func newIssuer(t testing.TB, change func(*oauth.Config)) (*oauthtest.Server, *oauth.ResourceServer) {
	issuer := oauthtest.New(t.Cleanup)
	issuer.Sign()
	c := oauth.Config{Resource: ours, Issuer: issuer.URL}
	if change != nil {
		change(&c)
	}
	s, err := oauth.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return issuer, s
}

// show shows a token at a path.
func show(s *oauth.ResourceServer, path, authorization string) (principal string, refused *gateway.Refusal) {
	r := httptest.NewRequest(http.MethodPost, ours+path, nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	principal, err := s.Principal(r)
	errors.As(err, &refused)
	return principal, refused
}

type dict = map[string]any

// S4: a token counts if the issuer has signed it for us, and not otherwise.
func TestS4Tokens(t *testing.T) {
	issuer, s := newIssuer(t, func(c *oauth.Config) { c.Audience, c.Scopes = []string{"api://mcp"}, []string{"mcp"} })
	stranger := oauthtest.New(t.Cleanup)
	stranger.Sign()
	public, err := json.Marshal(issuer.JWKS()["keys"].([]any)[0])
	if err != nil {
		t.Fatal(err)
	}
	ec, rs := dict{"alg": "ES256", "kid": oauthtest.ECKey}, dict{"alg": "RS256", "kid": oauthtest.RSAKey}
	with := func(head dict, more dict) dict {
		all := dict{}
		for _, d := range []dict{head, more} {
			for k, v := range d {
				all[k] = v
			}
		}
		return all
	}
	claims := func(changes dict) dict { return issuer.Claims(ours+"/mcp", with(dict{"scope": "mcp other"}, changes)) }
	at := func(d time.Duration) int64 { return time.Now().Add(d).Unix() }
	good := issuer.Mint(ec, claims(nil), nil)
	for _, c := range []struct {
		name, token, want string // the principal, or the status and what it says
	}{
		{"good", good, "ann"},
		{"of RSA", issuer.Mint(rs, claims(nil), nil), "ann"},
		{"of a type", issuer.Mint(with(ec, dict{"typ": "at+jwt"}), claims(nil), nil), "ann"},
		{"for all paths", issuer.Mint(ec, claims(dict{"aud": ours + "/"}), nil), "ann"},
		{"for an audience of the configuration", issuer.Mint(ec, claims(dict{"aud": []string{"x", "api://mcp"}}), nil), "ann"},
		{"with scopes in a list", issuer.Mint(ec, claims(dict{"scope": nil, "scp": []any{"mcp"}}), nil), "ann"},
		{"expired a moment ago", issuer.Mint(ec, claims(dict{"exp": at(-10 * time.Second)}), nil), "ann"},

		{"foreign audience", issuer.Mint(ec, claims(dict{"aud": "https://other.example/mcp"}), nil), "401 audience"},
		{"audience of another path", issuer.Mint(ec, claims(dict{"aud": ours + "/mcp/files"}), nil), "401 audience"},
		{"audience that begins like ours", issuer.Mint(ec, claims(dict{"aud": ours + ".evil.example"}), nil), "401 audience"},
		{"no audience", issuer.Mint(ec, claims(dict{"aud": nil}), nil), "401 audience"},
		{"expired", issuer.Mint(ec, claims(dict{"exp": at(-time.Minute)}), nil), "401 expired"},
		{"without an end", issuer.Mint(ec, claims(dict{"exp": nil}), nil), "401 expiration"},
		{"not valid yet", issuer.Mint(ec, claims(dict{"nbf": at(time.Minute)}), nil), "401 not valid yet"},
		{"of the future", issuer.Mint(ec, claims(dict{"iat": at(time.Hour)}), nil), "401 issued in the future"},
		{"of another issuer", issuer.Mint(ec, claims(dict{"iss": stranger.URL}), nil), "401 issuer"},
		{"of no issuer", issuer.Mint(ec, claims(dict{"iss": nil}), nil), "401 issuer"},
		{"none", issuer.Mint(dict{"alg": "none"}, claims(nil), nil), "401 no JWT"},
		{"None with a key", issuer.Mint(dict{"alg": "none", "kid": oauthtest.ECKey}, claims(nil), nil), "401 no JWT"},
		{"key confusion", issuer.Mint(dict{"alg": "HS256", "kid": oauthtest.RSAKey}, claims(nil), public), "401 no JWT"},
		{"key of the other algorithm", issuer.Mint(with(ec, dict{"kid": oauthtest.RSAKey}), claims(nil), nil), "401 signature"},
		{"unknown kid", issuer.Mint(with(ec, dict{"kid": "other"}), claims(nil), nil), "401 no such key"},
		{"no kid, of two keys", issuer.Mint(dict{"alg": "ES256"}, claims(nil), nil), "401 no such key"},
		{"key of a stranger", stranger.Mint(ec, claims(nil), nil), "401 signature"},
		{"key of a stranger in it", stranger.Mint(with(ec, dict{"jwk": stranger.JWKS()["keys"].([]any)[1]}), claims(nil), nil), "401 signature"},
		{"keys of a stranger elsewhere", stranger.Mint(with(ec, dict{"jku": stranger.URL + "/jwks"}), claims(nil), nil), "401 signature"},
		{"critical header", issuer.Mint(with(ec, dict{"crit": []string{"x"}, "x": 1}), claims(nil), nil), "401 signature"},
		{"of a logout", issuer.Mint(with(ec, dict{"typ": "logout+jwt"}), claims(nil), nil), "401 by its type"},
		{"of a proof", issuer.Mint(with(ec, dict{"typ": "dpop+jwt"}), claims(nil), nil), "401 by its type"},
		{"bound to a key", issuer.Mint(ec, claims(dict{"cnf": dict{"jkt": "x"}}), nil), "401 bound to a key"},
		{"bound to a certificate", issuer.Mint(ec, claims(dict{"cnf": dict{"x5t#S256": "x"}}), nil), "401 bound to a key"},
		{"bound to nothing", issuer.Mint(ec, claims(dict{"cnf": dict{}}), nil), "401 bound to a key"},
		{"changed", strings.Replace(good, ".", ".e", 1), "401 "},
		{"cut", good[:len(good)-4], "401 signature"},
		{"without a signature", good[:strings.LastIndex(good, ".")+1], "401 signature"},
		{"without a subject", issuer.Mint(ec, claims(dict{"sub": nil}), nil), "401 names no principal"},
		{"of an empty name", issuer.Mint(ec, claims(dict{"sub": ""}), nil), "401 "},
		{"of a number", issuer.Mint(ec, claims(dict{"sub": 7}), nil), "401 "},
		{"of a name with a line break", issuer.Mint(ec, claims(dict{"sub": "ann\nroot"}), nil), "401 names no principal"},
		{"of a long name", issuer.Mint(ec, claims(dict{"sub": strings.Repeat("a", 257)}), nil), "401 names no principal"},
		{"without the scope", issuer.Mint(ec, claims(dict{"scope": "mcp:read"}), nil), "403 insufficient scope"},
		{"without scopes", issuer.Mint(ec, claims(dict{"scope": nil, "scp": 7}), nil), "403 insufficient scope"},
		{"no token", "x", "401 no JWT"},
		{"encrypted", "e30.e30.e30.e30.e30", "401 no JWT"},
		{"long", strings.Repeat("a", 60<<10), "401 no JWT"},
	} {
		principal, refused := show(s, "/mcp", "Bearer "+c.token)
		if refused == nil {
			if principal != c.want {
				t.Errorf("%s: %q; want %s", c.name, principal, c.want)
			}
			continue
		}
		status, says, _ := strings.Cut(c.want, " ")
		code := map[string]string{"401": "invalid_token", "403": "insufficient_scope"}[status]
		want := `Bearer error="` + code + `", resource_metadata="` + ours + `/.well-known/oauth-protected-resource/mcp", scope="mcp"`
		if refused.Challenge != want || http.StatusText(refused.Status) == "" || !strings.Contains(refused.Why, says) || (refused.Status == 403) != (status == "403") {
			t.Errorf("%s: %q %+v; want %s", c.name, principal, refused, c.want)
		}
		if strings.Contains(refused.Why, c.token) && len(c.token) > 1 {
			t.Errorf("%s: it is quoted: %s", c.name, refused.Why)
		}
	}
	for _, none := range []string{"", "Basic YTpi", "Bearer", "Bearer " + good + " x", good} {
		principal, refused := show(s, "/mcp/files", none)
		if refused == nil || refused.Status != 401 || !strings.Contains(refused.Challenge, `resource_metadata="`+ours+`/.well-known/oauth-protected-resource/mcp/files"`) || (none == "") == strings.Contains(refused.Challenge, "error=") {
			t.Errorf("%.20q: %q %+v", none, principal, refused)
		}
	}
	r := httptest.NewRequest(http.MethodPost, ours+"/mcp?access_token="+good, nil)
	if principal, err := s.Principal(r); err == nil {
		t.Errorf("a token of the URL counts as that of %q", principal)
	}
	for path, want := range map[string]string{"/mcp": "", "/mcp/files": "ann", "/mcp/notes": "", "/mcp/files/": "", "/health": ""} {
		token := issuer.Mint(ec, issuer.Claims(ours+"/mcp/files", dict{"scope": "mcp"}), nil)
		if principal, _ := show(s, path, "bearer "+token); principal != want {
			t.Errorf("a token for /mcp/files at %s: %q", path, principal)
		}
	}
}

// A token that is bound to a certificate counts with that alone.
func TestBoundToken(t *testing.T) {
	issuer, s := newIssuer(t, func(c *oauth.Config) { c.Principal = "client_id" })
	ca := certtest.New()
	cert := ca.Issue(x509.Certificate{}).Leaf
	sum := sha256.Sum256(cert.Raw)
	token := issuer.Mint(dict{"alg": "ES256", "kid": oauthtest.ECKey},
		issuer.Claims(ours, dict{"client_id": "ci", "cnf": dict{"x5t#S256": base64.RawURLEncoding.EncodeToString(sum[:])}}), nil)
	for want, shown := range map[string]*tls.ConnectionState{
		"ci":   {PeerCertificates: []*x509.Certificate{cert}, VerifiedChains: [][]*x509.Certificate{{cert}}},
		"":     {PeerCertificates: []*x509.Certificate{ca.Issue(x509.Certificate{}).Leaf}, VerifiedChains: [][]*x509.Certificate{{cert}}},
		"none": {PeerCertificates: []*x509.Certificate{cert}},
	} {
		r := httptest.NewRequest(http.MethodPost, ours+"/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		r.TLS = shown
		if principal, err := s.Principal(r); principal != strings.TrimPrefix(want, "none") {
			t.Errorf("%q, %v; want %s", principal, err, want)
		}
	}
}

// S4: what an issuer names is fetched from public addresses alone, or from where the configuration says,
// and is bounded. The person who runs the gateway is told what is wrong; the client is not.
func TestS4KeysComeFromPublicAddresses(t *testing.T) {
	var secret atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { secret.Add(1) }))
	defer inside.Close()
	for name, c := range map[string]struct {
		change func(s *oauthtest.Server)
		want   string
	}{
		"this machine": {func(s *oauthtest.Server) { s.Metadata = func(m map[string]any) { m["jwks_uri"] = inside.URL } }, "this machine"},
		"a cloud's secret": {func(s *oauthtest.Server) {
			s.Metadata = func(m map[string]any) { m["jwks_uri"] = "https://169.254.169.254/x" }
		}, "169.254.169.254"},
		"a private network": {func(s *oauthtest.Server) {
			s.Metadata = func(m map[string]any) { m["jwks_uri"] = "https://10.0.0.1/x" }
		}, "10.0.0.1"},
		"without TLS": {func(s *oauthtest.Server) {
			s.Metadata = func(m map[string]any) { m["jwks_uri"] = "http://keys.example/x" }
		}, "only https"},
		"a file": {func(s *oauthtest.Server) {
			s.Metadata = func(m map[string]any) { m["jwks_uri"] = "file:///etc/passwd" }
		}, "not a web address"},
		"none": {func(s *oauthtest.Server) { s.Metadata = func(m map[string]any) { m["jwks_uri"] = nil } }, "no jwks_uri"},
		"another issuer": {func(s *oauthtest.Server) {
			s.Metadata = func(m map[string]any) { m["issuer"] = "https://other.example" }
		}, "another issuer"},
		"a redirect": {func(s *oauthtest.Server) {
			s.Answer("/jwks", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside.URL, http.StatusFound) })
		}, "answers 302"},
		"no JSON": {func(s *oauthtest.Server) {
			s.Answer("/jwks", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) })
		}, "invalid character"},
		"too long": {func(s *oauthtest.Server) {
			s.Answer("/jwks", func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 300<<10)) })
		}, "longer than"},
		"no keys": {func(s *oauthtest.Server) {
			s.Answer("/jwks", func(w http.ResponseWriter, _ *http.Request) {
				oauthtest.Reply(w, 200, dict{"keys": []any{dict{"kty": "oct", "kid": oauthtest.ECKey, "k": "c2VjcmV0"}, dict{"kty": "new"}, 7,
					dict{"kty": "RSA", "kid": oauthtest.ECKey, "n": strings.Repeat("_", 170) + "w", "e": "AQAB"},
					dict{"kty": "OKP", "crv": "Ed25519", "kid": oauthtest.ECKey, "use": "enc", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}}})
			})
		}, "no public key"},
	} {
		var told error
		issuer, s := newIssuer(t, func(c *oauth.Config) { c.Warn = func(err error) { told = errors.Join(told, err) } })
		c.change(issuer)
		principal, refused := show(s, "/mcp", "Bearer "+issuer.Mint(dict{"alg": "ES256", "kid": oauthtest.ECKey}, issuer.Claims(ours, nil), nil))
		if refused == nil || refused.Status != http.StatusServiceUnavailable || strings.Contains(refused.Why, "://") {
			t.Errorf("%s: %q %+v", name, principal, refused)
		}
		if told == nil || !strings.Contains(told.Error(), c.want) {
			t.Errorf("%s: %v; want %s", name, told, c.want)
		}
	}
	if secret.Load() != 0 {
		t.Error("a server inside was asked")
	}
	issuer, s := newIssuer(t, nil)
	issuer.Metadata = func(m map[string]any) { m["jwks_uri"] = inside.URL }
	named, err := oauth.New(oauth.Config{Resource: ours, Issuer: issuer.URL, JWKS: issuer.URL + "/jwks"})
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	token := "Bearer " + issuer.Mint(dict{"alg": "ES256", "kid": oauthtest.ECKey}, issuer.Claims(ours, nil), nil)
	if principal, refused := show(named, "/mcp", token); principal != "ann" {
		t.Errorf("by the configuration: %+v", refused)
	}
	if principal, _ := show(s, "/mcp", token); principal != "" {
		t.Errorf("by the issuer: %q", principal)
	}
}

// S4: the metadata and the challenge lead a client to the issuer. S3: pages of others read neither.
func TestS4Metadata(t *testing.T) {
	issuer, s := newIssuer(t, func(c *oauth.Config) { c.Scopes = []string{"mcp"} })
	g, err := gateway.New(nil, gateway.Config{Principal: s.Principal, WellKnown: s, Hosts: []string{"mcp.example.com"}})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	ask := func(method, path string, headers ...string) *httptest.ResponseRecorder {
		r, w := httptest.NewRequest(method, ours+path, strings.NewReader("{}")), httptest.NewRecorder()
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
			if headers[i] == "Host" {
				r.Host = headers[i+1]
			}
		}
		g.Handler().ServeHTTP(w, r)
		return w
	}
	for _, path := range []string{"", "/mcp", "/mcp/files", "/mcp/there-is.none_"} {
		w := ask("GET", "/.well-known/oauth-protected-resource"+path)
		var m struct {
			Resource string   `json:"resource"`
			Servers  []string `json:"authorization_servers"`
			Scopes   []string `json:"scopes_supported"`
			Methods  []string `json:"bearer_methods_supported"`
		}
		if json.Unmarshal(w.Body.Bytes(), &m) != nil || m.Resource != ours+path || len(m.Servers) != 1 || m.Servers[0] != issuer.URL || len(m.Scopes) != 1 || len(m.Methods) != 1 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/", "/mcp/", "/mcp/a/b", "/mcp/%22%3E", "/other", "x"} {
		if w := ask("GET", "/.well-known/oauth-protected-resource"+path); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := ask("POST", "/.well-known/oauth-protected-resource"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("a POST: %d", w.Code)
	}
	w := ask("POST", "/mcp/files")
	if got := w.Header().Values("WWW-Authenticate"); w.Code != 401 || len(got) != 1 || got[0] != `Bearer resource_metadata="`+ours+`/.well-known/oauth-protected-resource/mcp/files", scope="mcp"` {
		t.Errorf("%d %q", w.Code, got)
	}
	if !json.Valid(w.Body.Bytes()) || !strings.Contains(w.Body.String(), "no bearer token") {
		t.Errorf("%s", w.Body)
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp", "/mcp", "/mcp/files", "/health", "/ready", "/metrics", "/"} {
		for _, headers := range [][]string{{"Host", "evil.example"}, {"Origin", "https://evil.example"}, {"Origin", "null"}} {
			for _, method := range []string{"GET", "POST", "OPTIONS"} {
				if w := ask(method, path, headers...); w.Code != http.StatusForbidden || w.Header().Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s %s with %q: %d %v", method, path, headers, w.Code, w.Header())
				}
			}
		}
	}
}

// A configuration that cannot work is told at the start.
func TestNew(t *testing.T) {
	for want, c := range map[string]oauth.Config{
		"is no origin":           {Resource: "https://mcp.example.com/mcp", Issuer: "https://sso.example"},
		`"" is no origin`:        {Issuer: "https://sso.example"},
		"only https leaves":      {Resource: ours, Issuer: "http://sso.example"},
		"not a web address":      {Resource: ours},
		"holds a user":           {Resource: ours, Issuer: "https://sso.example", JWKS: "https://a:b@sso.example"},
		"the host of its URL is": {Resource: ours, Issuer: "https://127.1"},
	} {
		if _, err := oauth.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// No text is a token but what the issuer has signed.
func FuzzToken(f *testing.F) {
	issuer, s := newIssuer(f, nil)
	head := dict{"alg": "ES256", "kid": oauthtest.ECKey}
	good := issuer.Mint(head, issuer.Claims(ours, nil), nil)
	for _, token := range []string{good, issuer.Mint(head, issuer.Claims("x", nil), nil), issuer.Mint(dict{"alg": "none"}, issuer.Claims(ours, nil), nil), "e30.e30.", "."} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) {
		principal, refused := show(s, "/mcp", "Bearer "+token)
		if strings.TrimSpace(token) == good {
			return
		}
		// The last letter of a signature has bits that mean nothing.
		if refused == nil && (principal != "ann" || !strings.HasPrefix(token, good[:len(good)-1])) {
			t.Errorf("%q is that of %q", token, principal)
		}
		if refused != nil && refused.Status != http.StatusUnauthorized {
			t.Errorf("%q: %+v", token, refused)
		}
	})
}
