package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// modern is the first version of the protocol without a handshake.
const modern = "2026-07-28"

var (
	framings  = []string{"ndjson", "content-length", "auto"}
	protocols = []string{"auto", "legacy", modern}
	shares    = []string{ShareAuto, ShareYes, ShareClient}

	// strategies are the texts that the key strategy may have. mcp-remote introduced them.
	strategies = []string{"http-first", "sse-first", "http-only", "sse-only"}
)

// names matches what servers and plugins may be called: a name that needs no quotes in a shell
// and is no option.
var names = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

func (e *entry) checkName(name string) {
	if err := CheckName(name); err != nil {
		e.fail("", "%v", err)
	}
}

// CheckName returns what is wrong with the name of a server or a plugin.
func CheckName(name string) error {
	if !names.MatchString(name) {
		return fmt.Errorf("%q is no name; use up to 64 of a-z, A-Z, 0-9, '_', '.' and '-', a letter or digit first", name)
	}
	return nil
}

// isShipped reports whether a transport comes with Wharf. Wharf knows what its own transports need:
// stdio a command, the others a url. It does not know what other plugins need.
func isShipped(transport string) bool {
	return transport == "stdio" || isHTTP(transport)
}

func isHTTP(transport string) bool { return transport == "http" || transport == "sse" }

// check finds what is missing in an entry and what does not go together.
func (e *entry) check(s *Server) {
	e.checkName(s.Name)
	e.checkTarget(s)
	e.checkCompanions(s)
	e.checkKeys(s)
	e.checkAuth(s)
}

// checkKeys checks the keys that become names of variables or headers.
func (e *entry) checkKeys(s *Server) {
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			e.fail("env", "%q is no name of a variable", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if !token.MatchString(name) {
			e.fail("headers", "%q is no name of a header", name)
		}
		if OfProtocol(name) {
			e.note("headers."+name, "is not sent, since the protocol has one of its own")
		}
	}
}

// OfProtocol reports whether the protocol itself sets a header. An entry does not replace it.
func OfProtocol(header string) bool { return hostio.OfProtocol(header) }

// token matches the name of an HTTP header (RFC 9110, 5.6.2).
var token = lazyregexp.New("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// demo is the name of the server that is part of Wharf. An entry hides it, and needs no target for that.
const demo = "demo"

// checkTarget makes sure that an entry grants what its transport needs.
func (e *entry) checkTarget(s *Server) {
	switch via := s.Via(); {
	case s.Command != "" && s.URL != "":
		e.fail("url", "a server has a command or a url, not both; leave one out")
	case via == "stdio" && s.Command == "":
		e.fail("command", `is missing; transport stdio runs a process: write %s`, e.written("command", "…"))
	case isHTTP(via) && s.URL == "":
		e.fail("url", `is missing; transport %s connects to a url: write %s`, via, e.written("url", "https://…"))
	case s.Address != "" && isShipped(via):
		e.fail("address", "does nothing with transport %s, which has a command or a url; leave one out", via)
	case s.Strategy != "" && s.Transport != "":
		e.fail("strategy", "is for servers whose transport is to be found out; leave it or transport out")
	case via == "" && s.Address != "":
		e.fail("transport", `is missing; write the name of the plugin that speaks over %s: %s`, s.Address, e.written("transport", "…"))
	case via == "" && s.Disabled && s.Name == demo:
	case via == "":
		e.fail("", `expected a command, a url or a transport; write %s or %s`, e.written("command", "…"), e.written("url", "https://…"))
	}
}

// written returns a key and its text in the syntax of the file, for an error.
func (e *entry) written(key, text string) string {
	key, text = e.keyed.of(key), `"`+text+`"`
	if e.keyed.listed && key == "command" {
		text = "[" + text + "]"
	}
	return e.assigned(key, text)
}

// checkCompanions refuses a field whose companion is missing, since it would silently do
// nothing.
func (e *entry) checkCompanions(s *Server) {
	for _, c := range []struct {
		field, companion string
		given, missing   bool
	}{
		{"args", "command", len(s.Args) > 0, s.Command == ""},
		{"env", "command", len(s.Env) > 0, s.Command == ""},
		{"env_file", "command", s.EnvFile != "", s.Command == ""},
		{"dir", "command", s.Dir != "", s.Command == ""},
		{"headers", "url", len(s.Headers) > 0, s.URL == ""},
		{"proxy", "url", s.Proxy != "", s.URL == ""},
		{"tls", `url or an address = "tls:…"`, s.TLS != TLS{}, s.URL == "" && !strings.HasPrefix(s.Address, "tls:") && !strings.HasPrefix(s.Address, "$")},
		{"strategy", "url", s.Strategy != "", s.URL == ""},
	} {
		if c.given && c.missing {
			e.fail(c.field, "does nothing without a %s; add one or leave it out", c.companion)
		}
	}
	if scheme, _, _ := strings.Cut(s.URL, "://"); s.TLS != (TLS{}) && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "ws")) {
		e.note("tls", "counts for addresses of its sign-in at most, since its url is %s://, which is without TLS; if the server has TLS, write %[1]ss://", strings.ToLower(scheme))
	}
}
