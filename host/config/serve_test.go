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
	f, err := Parse(at("w.toml"), []byte("[serve]\nhosts = [\"mcp.example.com\", \"192.0.2.7\", \"::1\", \"[::2]\"]\ntls = { cert = \"a.pem\", key = \"/k/a.key\", client_ca = \"ca.pem\" }\n"))
	want := &Serve{Hosts: []string{"mcp.example.com", "192.0.2.7", "::1", "::2"}, TLS: ServeTLS{Cert: at("a.pem"), Key: "/k/a.key", ClientCA: at("ca.pem")}}
	if err != nil || !reflect.DeepEqual(f.Serve, want) {
		t.Errorf("%+v, %v", f.Serve, err)
	}
	if f, err := Parse("w.toml", nil); err != nil || f.Serve != nil {
		t.Errorf("%+v, %v", f.Serve, err)
	}
	for text, want := range map[string]string{
		"serve = 7\n":                                          `w.toml:1: serve: expected a table, not a number; write [serve]`,
		"[serve]\ntls = true\n":                                `w.toml:2: serve.tls: expected a table, not true or false; write [serve.tls]`,
		"[serve]\nhost = \"a\"\n":                              `w.toml:2: serve.host: there is no such key; did you mean hosts?`,
		"[serve.tls]\ncert = \"c\"\n":                          `w.toml:1: serve.tls: needs both cert and key`,
		"[serve.tls]\nclient_ca = \"c\"\n":                     `serve.tls: needs both cert and key`,
		"[serve.tls]\ncert = \"c\"\nkey = \"k\"\nca = \"c\"\n": `serve.tls.ca: there is no such key`,
		"[serve]\nhosts = [\"mcp.example.com:8443\"]\n":        `serve.hosts: "mcp.example.com:8443" is no host`,
		"[serve]\nhosts = [\"[::1]:1\"]\n":                     `is no host`,
		"[serve]\nhosts = [\"https://mcp.example.com\"]\n":     `is no host`,
		"[serve]\nhosts = [\"a/b\"]\n":                         `is no host`,
		"[serve]\nhosts = [\"\"]\n":                            `is no host`,
		"[serve]\nhosts = \"mcp.example.com\"\n":               `write ["mcp.example.com"]`,
	} {
		if _, err := Parse("w.toml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}
