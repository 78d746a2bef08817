package config

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// How clients over HTTP are served, and what is wrong with it.
func TestServe(t *testing.T) {
	at := func(path string) string { return filepath.Join("conf", path) }
	f, err := Parse(at("w.toml"), []byte("[serve]\nhosts = [\"mcp.example.com\", \"192.0.2.7\", \"::1\", \"[::2]\"]\ntls = { cert = \"a.pem\", key = \"/k/a.key\", client_ca = \"ca.pem\" }\ncalls_per_minute = 60\n"))
	want := &Serve{Hosts: []string{"mcp.example.com", "192.0.2.7", "::1", "::2"}, CallsPerMinute: 60, TLS: ServeTLS{Cert: at("a.pem"), Key: "/k/a.key", ClientCA: at("ca.pem")}}
	if err != nil || !reflect.DeepEqual(f.Serve, want) {
		t.Errorf("%+v, %v", f.Serve, err)
	}
	f, err = Parse("w.toml", []byte("[serve.oauth]\nresource = \"https://m.example:8443\"\nissuer = \"https://s.example/realm\"\njwks = \"http://127.0.0.1:7/k\"\naudience = [\"a\"]\nscopes = [\"b\"]\nprincipal = \"email\"\n"))
	oauth := ServeOAuth{Resource: "https://m.example:8443", Issuer: "https://s.example/realm", JWKS: "http://127.0.0.1:7/k", Audience: []string{"a"}, Scopes: []string{"b"}, Principal: "email"}
	if err != nil || !reflect.DeepEqual(f.Serve.OAuth, oauth) {
		t.Errorf("%+v, %v", f.Serve, err)
	}
	if f, err := Parse("w.toml", nil); err != nil || f.Serve != nil {
		t.Errorf("%+v, %v", f.Serve, err)
	}
	for text, want := range map[string]string{
		"serve = 7\n":                                           `w.toml:1: serve: expected a table, not a number; write [serve]`,
		"[serve]\ntls = true\n":                                 `w.toml:2: serve.tls: expected a table, not true or false; write [serve.tls]`,
		"[serve]\nhost = \"a\"\n":                               `w.toml:2: serve.host: there is no such key; did you mean hosts?`,
		"[serve.tls]\ncert = \"c\"\n":                           `w.toml:1: serve.tls: needs both cert and key`,
		"[serve.tls]\nclient_ca = \"c\"\n":                      `serve.tls: needs both cert and key`,
		"[serve.tls]\ncert = \"c\"\nkey = \"k\"\nca = \"c\"\n":  `serve.tls.ca: there is no such key`,
		"[serve]\nhosts = [\"mcp.example.com:8443\"]\n":         `serve.hosts: "mcp.example.com:8443" is no host`,
		"[serve]\nhosts = [\"[::1]:1\"]\n":                      `is no host`,
		"[serve]\nhosts = [\"https://mcp.example.com\"]\n":      `is no host`,
		"[serve]\nhosts = [\"a/b\"]\n":                          `is no host`,
		"[serve]\nhosts = [\"\"]\n":                             `is no host`,
		"[serve]\nhosts = \"mcp.example.com\"\n":                `write ["mcp.example.com"]`,
		"[serve]\noauth = \"https://s.example\"\n":              `expected a table, not a text; write [serve.oauth]`,
		"[serve.oauth]\nissuer = \"https://s.example\"\n":       `serve.oauth: needs both resource and issuer`,
		"[serve.oauth]\nresource = \"https://m.example/mcp\"\n": `"https://m.example/mcp" has a path`,
		"[serve.oauth]\nresource = \"m.example\"\n":             `is no address of the web`,
		"[serve.oauth]\nissuer = \"http://s.example\"\n":        `is http, which only this machine may have`,
		"[serve.oauth]\nissuer = \"https://me@s.example\"\n":    `is no address of the web`,
		"[serve.oauth]\nresource = \"https://m.example\"\nissuer = \"https://s.example\"\nscopes = [\"\"]\n": `serve.oauth.scopes: has an empty text`,
		"[serve]\ncalls_per_minute = 0\n": `serve.calls_per_minute: expected a number from 1 to 1000000`,
	} {
		if _, err := Parse("w.toml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}
