package host_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/internal/oauthtest"
	"github.com/wharf-mcp/wharf/internal/testenv"
)

// signingIn is a host with a vault and a person at a browser.
func signingIn(t *testing.T) (*host.Host, *visitor) {
	v := &visitor{}
	return newHost(t, host.Config{VaultDir: vaultDir(t), Person: &signin.Person{OpenURL: v.open}}), v
}

// The whole of it: one page, a token for this server and by this client, and the
// resource in each request (RFC 8707, section 2).
func TestOAuth(t *testing.T) {
	t.Parallel()
	o := oauthtest.New(t.Cleanup)
	w := newProtectedServer(t, o)
	h, v := signingIn(t)
	s := connect(t, h, w.entry("protectedServer"))
	say(t, s)
	o.Expire()
	say(t, s)
	if pages := v.saw("protectedServer"); len(pages) != 1 {
		t.Errorf("the person was shown %q", pages)
	}
	tokens := o.Requests("/token")
	if len(tokens) != 2 || len(tokens[0].Form.Get("code_verifier")) < 43 || tokens[1].Form.Get("grant_type") != "refresh_token" {
		t.Fatalf("the token endpoint was asked %v", tokens)
	}
	for _, e := range append(o.Requests("/authorize"), tokens...) {
		if got := e.Form["resource"]; len(got) != 1 || got[0] != w.URL {
			t.Errorf("%s has the resource %q", e.Path, got)
		}
	}
	if form := o.Requests("/register"); len(form) != 1 || !strings.Contains(form[0].Body, `"application_type":"native"`) {
		t.Errorf("registered with %v", form)
	}
}

// lie is what an authorization server, or an MCP server, does to get at what is
// not for it, or to have a server called that it cannot reach.
type lie struct {
	tell  func(o *oauthtest.Server, w *protectedServer, other string)
	want  string // in the error
	pages int    // that the person sees
}

func says(key string, value any) func(*oauthtest.Server, *protectedServer, string) {
	return func(o *oauthtest.Server, _ *protectedServer, _ string) {
		o.Metadata = func(m map[string]any) { m[key] = value }
	}
}

// answers sets iss of the answer, which the metadata announces or not. %s is the
// issuer.
func answers(iss string, announced bool, more ...string) func(*oauthtest.Server, *protectedServer, string) {
	return func(o *oauthtest.Server, _ *protectedServer, _ string) {
		says("authorization_response_iss_parameter_supported", announced)(o, nil, "")
		o.Redirect = func(q url.Values) {
			if iss != "" {
				q.Set("iss", strings.ReplaceAll(iss, "%s", o.URL))
			}
			for i := 0; i+1 < len(more); i += 2 {
				q.Set(more[i], more[i+1])
			}
		}
	}
}

// names has the MCP server name an authorization server.
func names(issuer string) func(*oauthtest.Server, *protectedServer, string) {
	return func(_ *oauthtest.Server, w *protectedServer, _ string) {
		w.Metadata = func(m map[string]any) { m["authorization_servers"] = []string{issuer} }
	}
}

var lies = map[string]lie{
	// Mix-up (RFC 9207, section 2.4).
	"no iss, and none announced": {tell: answers("", false), pages: 1},
	"iss":                        {tell: answers("%s", true), pages: 1},
	"iss, and not announced":     {tell: answers("%s", false), pages: 1},
	"no iss":                     {answers("", true), "does not say that it comes from", 1},
	"another's iss":              {answers("https://honest.example", true), "from another authorization server", 1},
	"another's, not announced":   {answers("https://honest.example", false), "from another authorization server", 1},
	"iss with a slash":           {answers("%s/", true), "from another authorization server", 1},
	"iss in capitals":            {answers("HTTP"+"%s", true), "from another authorization server", 1},
	"iss escaped":                {answers("%s/%2e", true), "from another authorization server", 1},
	"another's error":            {answers("https://honest.example", true, "error", "access_denied", "error_description", "call 555-1234"), "from another authorization server", 1},

	// Metadata of another issuer.
	"another issuer":      {says("issuer", "https://honest.example"), `its issuer is "https://honest.example"`, 0},
	"no issuer":           {says("issuer", nil), `its issuer is ""`, 0},
	"an issuer and slash": {func(o *oauthtest.Server, w *protectedServer, _ string) { says("issuer", o.URL+"/")(o, w, "") }, "its issuer is", 0},
	"another resource": {func(_ *oauthtest.Server, w *protectedServer, _ string) {
		w.Metadata = func(m map[string]any) { m["resource"] = "https://bank.example/mcp" }
	}, `it is about "https://bank.example/mcp"`, 0},
	"a longer resource": {func(_ *oauthtest.Server, w *protectedServer, _ string) {
		w.Metadata = func(m map[string]any) { m["resource"] = w.URL + "/deeper" }
	}, "it is about", 0},
	"metadata elsewhere": {func(_ *oauthtest.Server, w *protectedServer, other string) {
		w.Metadata = func(m map[string]any) { m["resource"] = "https://bank.example" }
		w.Refuse = func(string, *http.Request) (int, string) {
			return 401, `Bearer resource_metadata="` + other + `/.well-known/oauth-protected-resource"`
		}
	}, "it is about", 0},

	// No PKCE.
	"no word of PKCE": {says("code_challenge_methods_supported", nil), "code_challenge_methods_supported is missing", 0},
	"plain PKCE":      {says("code_challenge_methods_supported", []string{"plain"}), "PKCE with S256", 0},

	// Pages that are none.
	"a script":     {says("authorization_endpoint", "javascript:alert(1)"), "authorization_endpoint is no https URL", 0},
	"a file":       {says("authorization_endpoint", "file:///etc/passwd"), "authorization_endpoint is no https URL", 0},
	"a command":    {says("authorization_endpoint", "https://h.example/$(calc)"), "holds '$'", 0},
	"a flag":       {says("authorization_endpoint", "-a Calculator"), "authorization_endpoint is no https URL", 0},
	"plain http":   {says("authorization_endpoint", "http://sso.example/"), "authorization_endpoint is no https URL", 0},
	"a long page":  {says("authorization_endpoint", "https://h.example/?"+strings.Repeat("x", 1<<15)), "bytes", 0},
	"a login name": {says("authorization_endpoint", "https://bank.example@h.example/"), "authorization_endpoint is no https URL", 0},

	// Addresses that a server on this machine has no business with.
	"cloud":           {names("https://169.254.169.254"), "169.254.169.254", 0},
	"a neighbour":     {names("https://10.0.0.1"), "10.0.0.1", 0},
	"a mapped one":    {names("https://[::ffff:169.254.169.254]"), "169.254.169.254", 0},
	"an odd one":      {names("https://0x7f.1"), "neither a name in ASCII", 0},
	"http elsewhere":  {names("http://10.0.0.1"), "no https URL", 0},
	"a token in town": {says("token_endpoint", "https://169.254.169.254/token"), "169.254.169.254", 1},
	"register there":  {says("registration_endpoint", "https://10.0.0.1/register"), "10.0.0.1", 0},
	"tokens by http":  {says("token_endpoint", "http://10.0.0.1/token"), "token_endpoint is no https URL", 0},

	// Redirects.
	"metadata moves": {moves("/.well-known/oauth-authorization-server", 302), "another origin", 0},
	"token moves":    {moves("/token", 307), "status 307", 1},
	"token hops":     {moves("/token", 308), "status 308", 1},
	"register moves": {moves("/register", 307), "status 307", 0},

	// Answers without an end.
	"endless metadata": {func(o *oauthtest.Server, _ *protectedServer, _ string) {
		o.Answer("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mediaJSON)
			pour(w, " ")
		})
	}, "longer than", 0},
	"deep metadata": {func(o *oauthtest.Server, _ *protectedServer, _ string) {
		o.Answer("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", mediaJSON)
			fmt.Fprint(w, strings.Repeat(`{"a":`, 1000)+"1"+strings.Repeat("}", 1000))
		})
	}, "nested deeper", 0},
	"endless token": {func(o *oauthtest.Server, _ *protectedServer, _ string) {
		o.Answer("/token", func(w http.ResponseWriter, _ *http.Request) { pour(w, " ") })
	}, "longer than", 1},
}

// moves redirects a path to where no request may go.
func moves(path string, status int) func(*oauthtest.Server, *protectedServer, string) {
	return func(o *oauthtest.Server, _ *protectedServer, other string) {
		o.Answer(path, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other+path, status) })
	}
}

// Whatever a server says: nothing goes where it should not, no page opens that
// should not, and the error says what is wrong.
func TestLies(t *testing.T) {
	t.Parallel()
	h, v := signingIn(t)
	other := spied(t)
	for name, l := range testenv.Part(lies, 3) {
		t.Run(name, func(t *testing.T) {
			o := oauthtest.New(t.Cleanup)
			w := newProtectedServer(t, o)
			l.tell(o, w, other)
			_, err := h.Connect(t.Context(), w.entry(name))
			pages := v.saw(name)
			if (err == nil) != (l.want == "" && l.pages == 1) || err != nil && !strings.Contains(err.Error()+host.Hint(err), l.want) {
				t.Errorf("error %v (hint %q), want %q", err, host.Hint(err), l.want)
			}
			if len(pages) != l.pages {
				t.Errorf("the person was shown %q, want %d pages", pages, l.pages)
			}
			if err == nil {
				return
			}
			if text := err.Error() + host.Hint(err); strings.Contains(text, oauthtest.Canary) || strings.Contains(text, "555-1234") {
				t.Errorf("the error shows too much: %s", text)
			}
			if !strings.Contains(err.Error(), "oauth") && !errors.Is(err, host.ErrAuthRequired) {
				t.Errorf("error %v", err)
			}
			mixedUp := strings.Contains(l.want, "it comes from") || strings.Contains(l.want, "from another authorization server")
			if mixedUp && len(o.Requests("/token")) != 0 {
				t.Error("the code was shown to the token endpoint")
			}
		})
	}
}
