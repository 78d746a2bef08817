package main

import (
	"slices"
	"strings"
)

// maxScopes bounds what a server can have one ask for.
const maxScopes = 200

// parseScopes reads a list of scopes (RFC 6749, section 3.3), each once. What
// cannot be a scope is left out.
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

// scopes returns what to ask for: what is configured, else what the challenge wants, else
// all that the server has; nothing if neither names any, which leaves it to the
// authorization server. A step-up asks for what was asked for before as well. The
// challenge is not held against what the server lists: the two need have nothing in
// common.
func (l *login) scopes(at *place) []string {
	challenged := parseScopes(l.wants.scope)
	asked := union(nil, l.settings.Scopes)
	if len(asked) == 0 {
		asked = challenged
	}
	if len(asked) == 0 && !l.upscope {
		asked = union(nil, at.Scopes)
	}
	if l.upscope {
		asked = union(union(l.before.Scope, asked), challenged)
	}
	if !l.settings.byMachine() && len(asked) > 0 && slices.Contains(at.Server.Scopes, offline) {
		asked = union(asked, []string{offline})
	}
	return asked
}
