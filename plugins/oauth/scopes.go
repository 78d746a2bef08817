package main

import (
	"slices"
	"strings"
)

// maxScopes bounds how many scopes a server can make a client ask for.
const maxScopes = 200

// parseScopes reads a list of scopes (RFC 6749, section 3.3), each once. It leaves out texts
// that cannot be a scope.
func parseScopes(s string) []string { return union(nil, strings.Fields(s)) }

// union returns the scopes of both, in their order, each once.
func union(a, b []string) []string {
	var out []string
	for _, list := range [][]string{a, b} {
		for _, scope := range list {
			if isScope(scope) && !slices.Contains(out, scope) && len(out) < maxScopes {
				out = append(out, scope)
			}
		}
	}
	return out
}

func isScope(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '"' || r == '\\' || r >= 0x7f })
}

// contains reports whether all of want are among have.
func contains(have, want []string) bool {
	return !slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(have, s) })
}

// offline is the scope that some authorization servers give a refresh token for
// (OpenID Connect Core, section 11).
const offline = "offline_access"

// scopes returns the scopes to ask for: those of the settings, else those of the
// challenge, else all of the server's. If none of them names any, it returns none, and
// the authorization server has the choice. A step-up also asks for the
// earlier scopes, and so does a sign-in after one that had no person to ask, or in place of
// one that was lost, unless the settings name scopes: so what a step-up has added outlasts the
// tokens. Scopes of the challenge need not be among those that the server lists.
func (l *login) scopes(at *place) []string {
	challenged := parseScopes(l.wants.scope)
	asked := union(nil, l.settings.Scopes)
	if len(asked) == 0 {
		asked = challenged
	}
	if len(asked) == 0 && !l.upscope {
		asked = union(nil, at.Scopes)
	}
	more := l.before.Wanted
	if l.upscope {
		more = union(more, challenged)
	}
	again := l.isLost() && len(l.settings.Scopes) == 0 && l.before.Issuer == at.Server.Issuer
	if l.upscope || len(more) > 0 || again {
		asked = union(union(l.before.Scope, asked), more)
	}
	if !l.settings.byMachine() && len(asked) > 0 && slices.Contains(at.Server.Scopes, offline) {
		asked = union(asked, []string{offline})
	}
	return asked
}
