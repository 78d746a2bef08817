package main

import (
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/host/registry"
)

// An input without an answer becomes a variable, whatever a registry calls it.
func TestInputsOfTheEnvironment(t *testing.T) {
	for id, want := range map[string]string{
		"dir": "${DIR}", "api-key": "${API_KEY}", "2fa": "${_2FA}", "path": "${FILES_PATH}", "": "${FILES_}", "é": "${FILES__}",
	} {
		n := newInputs("files")
		n.later(registry.Input{ID: id, Of: "the argument " + id})
		if got := n.answers[id]; len(got) != 1 || got[0] != want {
			t.Errorf("%q is answered with %q; want %q", id, got, want)
		}
	}
}

// A secret is kept as it is typed, whatever is in it, unless it refers to one that is kept elsewhere.
func TestInputsKeepSecrets(t *testing.T) {
	for text, kept := range map[string]bool{
		"abc":                   true,
		"ky${HOME}zz":           true,
		"x${":                   true,
		"${}":                   true,
		"${a}${b}":              true,
		"pa$$word${env:}":       true,
		"${not a name}":         true,
		"${KEY}":                false,
		"${KEY:-none}":          false,
		"Bearer ${KEY}":         false,
		"${secret:mine}":        false,
		"Bearer ${env:KEY}":     false,
		"user:${file:~/.token}": false,
	} {
		n := newInputs("s")
		if err := n.give(registry.Input{ID: "API_KEY", Of: "the variable API_KEY", Value: registry.Value{IsSecret: true}}, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		want, secret := text, ""
		if kept {
			want, secret = "${secret:s/API_KEY}", text
		}
		if got := n.answers["API_KEY"]; !slices.Equal(got, []string{want}) || n.secrets["s/API_KEY"] != secret {
			t.Errorf("%s: the answer is %q, and the vault gets %q", text, got, n.secrets)
		}
	}
}
