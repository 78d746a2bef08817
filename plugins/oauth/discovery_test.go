//go:build !wasip1

package main

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
)

// asked returns the addresses that were asked with GET, in order.
func (w *world) asked() []string {
	var out []string
	for _, r := range w.sent {
		if r.Method == "GET" {
			out = append(out, r.URL)
		}
	}
	return out
}

func TestPlacesOfResourceMetadata(t *testing.T) {
	const custom = "https://mcp.example/custom/metadata.json"
	for _, tt := range []struct {
		name   string
		header string
		at     string
		want   []string
	}{
		{"at the path", "", prmAt, []string{prmAt}},
		{"at the root", "", prmTop, []string{prmAt, prmTop}},
		{"where the challenge says", custom, custom, []string{custom}},
		{"not where the challenge says", custom, prmAt, []string{custom, prmAt}},
		{"of another origin", "https://evil.example/prm", prmAt, []string{prmAt}},
		{"of another port", "https://mcp.example:8443/prm", prmAt, []string{prmAt}},
		{"of another scheme", "http://mcp.example/prm", prmAt, []string{prmAt}},
		{"with a user name", "https://mcp.example@evil.example/prm", prmAt, []string{prmAt}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			answer := w.answers[prmAt]
			delete(w.answers, prmAt)
			w.answers[tt.at] = answer
			c := refused("", `Bearer realm="x"`)
			if tt.header != "" {
				c = refused("", `Negotiate abc==, Bearer resource_metadata="`+tt.header+`", error="invalid_token"`)
			}
			w.mustGive(w.run(step.ReasonChallenged, c), "token-1")
			if got := w.asked(); !slices.Equal(got[:len(got)-1], tt.want) {
				t.Errorf("asked %q, want %q", got, tt.want)
			}
		})
	}
}

// Metadata that speaks of another resource, or is none, is not used.
func TestResourceMetadataThatIsWrong(t *testing.T) {
	deep := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	for _, tt := range []struct{ name, body, want string }{
		{"another origin", `{"resource":"https://evil.example/mcp","authorization_servers":["` + as + `"]}`, "evil.example"},
		{"another path", `{"resource":"https://mcp.example/other","authorization_servers":["` + as + `"]}`, "/other"},
		{"half a segment", `{"resource":"https://mcp.example/mc","authorization_servers":["` + as + `"]}`, "/mc"},
		{"a longer path", `{"resource":"https://mcp.example/mcp/more","authorization_servers":["` + as + `"]}`, "/mcp/more"},
		{"another port", `{"resource":"https://mcp.example:444/mcp","authorization_servers":["` + as + `"]}`, ":444"},
		{"a fragment", `{"resource":"https://mcp.example/mcp#x","authorization_servers":["` + as + `"]}`, "#x"},
		{"no resource", `{"authorization_servers":["` + as + `"]}`, `about ""`},
		{"no servers", `{"resource":"` + mcp + `"}`, "no authorization server"},
		{"servers of another type", `{"resource":"` + mcp + `","authorization_servers":"` + as + `"}`, "authorization_servers"},
		{"an http server", `{"resource":"` + mcp + `","authorization_servers":["http://as.example"]}`, "no https URL"},
		{"a server on this machine", `{"resource":"` + mcp + `","authorization_servers":["http://localhost:1"]}`, "no https URL"},
		{"a server with a query", `{"resource":"` + mcp + `","authorization_servers":["https://as.example?x"]}`, "no https URL"},
		{"another case of a name", `{"Resource":"` + mcp + `","authorization_servers":["` + as + `"]}`, `about ""`},
		{"a list", `[]`, "no JSON object"},
		{"null", `null`, "no JSON object"},
		{"half of it", `{"resource":`, "no JSON object"},
		{"deep", `{"resource":"` + mcp + `","x":` + deep + `}`, "deeper"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.answers[prmAt] = func(*step.HTTP) *step.Response {
				return &step.Response{Status: 200, Body: tt.body, Headers: map[string]string{"content-type": "application/json"}}
			}
			w.mustFail(w.run(step.ReasonChallenged, refused("")), step.FailConfig, tt.want)
			if n := w.called(as); n != 0 || len(w.pages) != 0 {
				t.Errorf("the authorization server was called %d times, and %d pages shown", n, len(w.pages))
			}
		})
	}
}

func TestResourceThatCovers(t *testing.T) {
	for _, tt := range []struct{ server, resource string }{
		{mcp, mcp},
		{mcp, "https://mcp.example/mcp/"},
		{mcp, "https://MCP.example:443/mcp"},
		{mcp, "https://mcp.example"},
		{mcp, "https://mcp.example/"},
		{"https://mcp.example/a/b", "https://mcp.example/a"},
		{"https://mcp.example/mcp?tenant=1", "https://mcp.example/mcp?tenant=1"},
	} {
		server, _ := url.Parse(tt.server)
		if resource, _ := url.Parse(tt.resource); !covers(resource, server) {
			t.Errorf("%s does not cover %s", tt.resource, tt.server)
		}
	}
	w := newWorld(t)
	w.prm["resource"] = "https://mcp.example"
	w.mustGive(w.run(step.ReasonChallenged, refused("")), "token-1")
	if got := w.pages[0].Get("resource") + " " + w.forms[0].Get("resource"); got != "https://mcp.example https://mcp.example" {
		t.Errorf("the resource is sent as %s, and not as it was published", got)
	}
}

// What cannot be asked is not taken for absent: no older revision is fallen back to.
func TestServerThatIsDown(t *testing.T) {
	for _, tt := range []struct {
		at     string
		answer *step.Response
	}{
		{prmAt, reply(503, object{})}, {prmAt, reply(429, object{})}, {prmAt, nil}, {prmTop, nil},
		{metaAt, reply(500, object{})}, {metaAt, nil},
	} {
		w := newWorld(t)
		if tt.at == prmTop {
			delete(w.answers, prmAt)
		}
		w.answers[tt.at] = func(*step.HTTP) *step.Response { return tt.answer }
		w.mustFail(w.run(step.ReasonChallenged, refused("")), step.FailRetry, "metadata")
	}
}

// A server that answers everything with a page has no metadata (row 14).
func TestPagesAreNoMetadata(t *testing.T) {
	w := newWorld(t)
	page := func(*step.HTTP) *step.Response {
		return &step.Response{Status: 200, Body: `{"issuer":"` + as + `"}`, Headers: map[string]string{"content-type": "text/html"}}
	}
	w.answers[prmAt], w.answers[metaAt] = page, page
	w.answers[prmTop] = func(*step.HTTP) *step.Response { return reply(200, w.prm) }
	w.answers[oidcAt] = func(*step.HTTP) *step.Response { return reply(200, w.meta) }
	w.mustGive(w.run(step.ReasonChallenged, refused("")), "token-1")
	want := []string{prmAt, prmTop, metaAt, oidcAt}
	if got := w.asked(); !slices.Equal(got, want) {
		t.Errorf("asked %q, want %q", got, want)
	}

	w = old(t)
	w.answers[prmAt], w.answers[prmTop] = page, page
	w.mustGive(w.run(step.ReasonChallenged, refused("")), "token-1")
}

func TestPlacesOfServerMetadata(t *testing.T) {
	for issuer, want := range map[string][]string{
		"https://as.example":  {metaAt, oidcAt},
		"https://as.example/": {metaAt, oidcAt},
		"https://as.example/tenant/1": {
			metaAt + "/tenant/1", oidcAt + "/tenant/1", "https://as.example/tenant/1/.well-known/openid-configuration",
		},
		"https://as.example/t/": {metaAt + "/t", oidcAt + "/t", "https://as.example/t/.well-known/openid-configuration"},
	} {
		if got := metadataPlaces(issuer); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", issuer, got, want)
		}
	}
}

// The issuer is compared character by character (rows 1 and 2).
func TestIssuerIsIdentical(t *testing.T) {
	for _, issuer := range []string{
		"https://evil.example", "https://as.example/", "https://AS.example", "https://as.example:443", "https://as.%65xample", "", " https://as.example",
	} {
		w := newWorld(t)
		w.meta["issuer"] = issuer
		w.mustFail(w.run(step.ReasonChallenged, refused("")), step.FailConfig, "issuer")
		if len(w.pages)+w.called(as+"/register") != 0 {
			t.Errorf("%q: the metadata was used", issuer)
		}
	}
}

func TestServerMetadataThatIsWrong(t *testing.T) {
	for name, value := range map[string]any{
		"token_endpoint": "http://as.example/token", "authorization_endpoint": "javascript:alert(1)",
		"registration_endpoint": "http://localhost:8080/", "revocation_endpoint": 7,
		"device_authorization_endpoint":                  "https://user@as.example/",
		"scopes_supported":                               "all",
		"code_challenge_methods_supported":               []int{1},
		"authorization_response_iss_parameter_supported": "true",
	} {
		w := newWorld(t)
		w.meta[name] = value
		w.mustFail(w.run(step.ReasonChallenged, refused("")), step.FailConfig, name)
	}
	w := newWorld(t)
	delete(w.meta, "token_endpoint")
	w.mustFail(w.run(step.ReasonChallenged, refused("")), step.FailConfig, "token endpoint")
	w = newWorld(t)
	delete(w.answers, metaAt)
	w.mustFail(w.run(step.ReasonChallenged, refused("")), step.FailConfig, "no metadata")
}

// Row 4. A server without metadata has no way to say it.
func TestPKCEGate(t *testing.T) {
	for _, methods := range []any{nil, []string{}, []string{"plain"}, []string{"s256"}} {
		w := newWorld(t)
		w.meta["code_challenge_methods_supported"] = methods
		w.mustFail(w.run(step.ReasonChallenged, refused("")), step.FailConfig, "PKCE")
		if len(w.pages)+w.called(as+"/register") != 0 {
			t.Errorf("%v: the person was sent there", methods)
		}
	}
}

// old is a server of the revision 2025-03-26, its own authorization server.
func old(t *testing.T) *world {
	const own = "https://mcp.example"
	w := newWorld(t)
	for name, value := range w.meta {
		if text, ok := value.(string); ok {
			w.meta[name] = strings.Replace(text, as, own, 1)
		}
	}
	w.code = object{"code": "the-code"}
	delete(w.meta, "authorization_response_iss_parameter_supported")
	delete(w.answers, prmAt)
	w.answers[own+"/.well-known/oauth-authorization-server"] = func(*step.HTTP) *step.Response { return reply(200, w.meta) }
	w.answers[own+"/token"], w.answers[own+"/register"] = w.token, w.answers[as+"/register"]
	return w
}

func TestOldRevision(t *testing.T) {
	w := old(t)
	w.mustGive(w.run(step.ReasonChallenged, refused("", "Bearer")), "token-1")
	for _, r := range w.sent {
		if isMetadata := strings.Contains(r.URL, "authorization-server"); isMetadata != (r.Headers["MCP-Protocol-Version"] == oldRevision) {
			t.Errorf("%s with %v", r.URL, r.Headers)
		}
	}
	w = old(t)
	delete(w.meta, "code_challenge_methods_supported")
	w.mustFail(w.run(step.ReasonChallenged, refused("")), step.FailConfig, "PKCE")
}

func TestOldRevisionWithoutMetadata(t *testing.T) {
	w := old(t)
	delete(w.answers, "https://mcp.example/.well-known/oauth-authorization-server")
	w.mustGive(w.run(step.ReasonChallenged, refused("")), "token-1")
	if len(w.pages) != 1 || w.pages[0].Get("code_challenge") == "" {
		t.Error("there is no code challenge")
	}
	// A web site may have a page at each address: there is nothing to register at, and a token is asked for.
	for _, body := range []step.Response{{Status: 200, Body: "<p>hello"}, {Status: 503}, {Status: 200, Body: "{}", Headers: map[string]string{"content-type": "application/json"}}} {
		w = old(t)
		delete(w.answers, "https://mcp.example/.well-known/oauth-authorization-server")
		w.answers["https://mcp.example/register"] = func(*step.HTTP) *step.Response { return &body }
		w.mustFail(w.run(step.ReasonChallenged, refused("")), step.FailConfig, "no person to ask") // no prompt in this world
	}
	// Of a server that names its metadata, nothing is guessed.
	w = old(t)
	w.mustFail(w.run(step.ReasonChallenged, refused("", `Bearer resource_metadata="`+prmAt+`"`)), step.FailConfig, "is not there")
}

func TestConfiguredPlaces(t *testing.T) {
	w := newWorld(t)
	w.add("https://other.example")
	w.prm["authorization_servers"] = []string{as, "https://other.example"}
	w.settings["authorization_server"] = "https://other.example"
	w.code["iss"] = "https://other.example"
	w.mustGive(w.run(step.ReasonChallenged, refused("")), "token-1")

	w = newWorld(t)
	w.settings["authorization_server"] = "https://other.example"
	w.mustFail(w.run(step.ReasonChallenged, refused("")), step.FailConfig, "does not name")

	w = newWorld(t) // nothing at the server, and metadata where no client looks
	delete(w.answers, prmAt)
	delete(w.answers, metaAt)
	w.settings["metadata_url"] = "https://meta.example/as.json"
	w.answers["https://meta.example/as.json"] = func(*step.HTTP) *step.Response { return reply(200, w.meta) }
	w.mustGive(w.run(step.ReasonChallenged, refused("")), "token-1")
	w.settings["authorization_server"] = "https://other.example"
	w.mustFail(w.run(step.ReasonLogin, nil), step.FailConfig, "issuer")
}

func TestResourceSetting(t *testing.T) {
	for setting, want := range map[string]string{"": "", "none": "", "urn:x": "urn:x"} {
		w := newWorld(t)
		w.settings["resource"] = setting
		w.mustGive(w.run(step.ReasonChallenged, refused("")), "token-1")
		w.host.Now += 3_600_000
		w.alone(step.ReasonExpired, nil)
		if got := []string{w.pages[0].Get("resource"), w.forms[0].Get("resource"), w.forms[1].Get("resource")}; !slices.Equal(got, []string{want, want, want}) {
			t.Errorf("%q: sent %q", setting, got)
		}
	}
}
