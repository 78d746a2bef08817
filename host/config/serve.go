package config

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
)

// Serve says how clients over HTTP reach all servers, and how they prove who they are.
type Serve struct {
	// Hosts are the names and addresses, without ports, by which clients of other machines
	// reach it.
	Hosts []string

	// CallsPerMinute is how many requests each principal may send in a minute; 0 is the default.
	CallsPerMinute int

	TLS   ServeTLS
	OAuth ServeOAuth
}

// ServeTLS has the files of TLS, each in PEM. Paths are absolute, or count from the working folder.
type ServeTLS struct {
	Cert, Key string // of the program; "" is no TLS

	// ClientCA has the authorities of clients. With it, a client needs a certificate of one
	// of them. "" asks clients for none.
	ClientCA string
}

// ServeOAuth says which access tokens of an OAuth issuer are accepted, see the package
// host/gateway/oauth. Its zero value accepts none.
type ServeOAuth struct {
	Resource         string // the origin by which clients reach it
	Issuer, JWKS     string
	Audience, Scopes []string
	Principal        string // a claim
}

// maxCallsPerMinute bounds [Serve.CallsPerMinute].
const maxCallsPerMinute = 1_000_000

// serve reads the table serve.
func (e *entry) serve() *Serve {
	values := valueOf[map[string]any](e, "serve", "expected a table, not %s; write [serve]")
	if values == nil {
		return nil
	}
	s := new(Serve)
	e.within("serve", values, func(e *entry) {
		e.onlyKeys(serveKeys, "")
		s.Hosts, s.CallsPerMinute = e.hosts(), e.count("calls_per_minute", maxCallsPerMinute)
		if values := valueOf[map[string]any](e, "tls", "expected a table, not %s; write [serve.tls]"); values != nil {
			e.within("tls", values, func(e *entry) { s.TLS = e.serveTLS() })
		}
		if values := valueOf[map[string]any](e, "oauth", "expected a table, not %s; write [serve.oauth]"); values != nil {
			e.within("oauth", values, func(e *entry) { s.OAuth = e.serveOAuth() })
		}
	})
	return s
}

// hosts reads names and addresses of hosts.
func (e *entry) hosts() []string {
	hosts := e.list("hosts")
	for i, host := range hosts {
		u, err := url.Parse("//" + host)
		if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
			u, err = url.Parse("//[" + host + "]")
		}
		if err != nil || host == "" || u.Hostname() != strings.Trim(host, "[]") || u.Port() != "" {
			e.fail("hosts", `%q is no host; write "mcp.example.com" or "192.0.2.7", without https:// and a port`, host)
			continue
		}
		hosts[i] = u.Hostname()
	}
	return hosts
}

// serveTLS reads the files of TLS.
func (e *entry) serveTLS() ServeTLS {
	e.onlyKeys(serveTLSKeys, "")
	t := ServeTLS{Cert: e.filePath("cert"), Key: e.filePath("key"), ClientCA: e.filePath("client_ca")}
	if len(e.wrong) == 0 && (t.Cert == "" || t.Key == "") {
		e.fail("", `needs both cert and key; write cert = "FILE" and key = "FILE"`)
	}
	return t
}

// serveOAuth reads which tokens are accepted.
func (e *entry) serveOAuth() ServeOAuth {
	e.onlyKeys(serveOAuthKeys, "")
	o := ServeOAuth{
		Resource: e.webURL("resource"), Issuer: e.webURL("issuer"), JWKS: e.webURL("jwks"),
		Audience: e.list("audience"), Scopes: e.list("scopes"), Principal: e.text("principal"),
	}
	if u, err := url.Parse(o.Resource); err == nil && (strings.Trim(u.Path, "/") != "" || u.RawQuery != "") {
		e.fail("resource", `%q has a path; write "https://host" or "https://host:port"`, o.Resource)
	}
	if len(e.wrong) == 0 && (o.Resource == "" || o.Issuer == "") {
		e.fail("", `needs both resource and issuer; write resource = "https://mcp.example.com" and issuer = "https://sso.example.com"`)
	}
	for key, texts := range map[string][]string{"audience": o.Audience, "scopes": o.Scopes} {
		if slices.Contains(texts, "") {
			e.fail(key, "has an empty text; leave it out")
		}
	}
	return o
}

// webURL reads a URL. One of another machine is https.
func (e *entry) webURL(key string) string {
	text := e.text(key)
	u, err := url.Parse(text)
	switch {
	case text == "":
	case err != nil || u.Host == "" || u.User != nil || strings.Contains(text, "#") || u.Scheme != "https" && u.Scheme != "http":
		e.fail(key, `%q is no address of the web; write "https://…"`, text)
	case u.Scheme == "http" && u.Hostname() != "localhost" && u.Hostname() != "127.0.0.1" && u.Hostname() != "::1":
		e.fail(key, `%q is http, which only this machine may have; write "https://…"`, text)
	}
	return text
}

// filePath reads the path of a file. A relative one counts from the folder of the configuration.
func (e *entry) filePath(key string) string {
	path := e.text(key)
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(e.doc.path), path)
}
