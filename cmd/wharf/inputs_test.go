package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
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

// Empty text for what need not be given is no path, and no secret.
func TestInputsTakeEmptyText(t *testing.T) {
	n := newInputs("s")
	for id, value := range map[string]registry.Value{"dir": {Format: "filepath"}, "KEY": {IsSecret: true}, "NAME": {}} {
		err := n.give(registry.Input{ID: id, Of: id, Value: value}, "")
		if got := n.answers[id]; err != nil || !slices.Equal(got, []string{""}) {
			t.Errorf("the answer to %s is %q, %v", id, got, err)
		}
	}
	if len(n.secrets) > 0 {
		t.Errorf("the vault gets %q", n.secrets)
	}
}

// Two commands copy the same servers at once: the one whose entries are not written leaves the secrets that the
// entries of the other mean, and takes back its own.
func TestUndoKeepsSecretsOfEntries(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, home)
	}
	a := &app{Terminal: &term.Terminal{Out: io.Discard, Err: io.Discard}}
	undo, err := a.storeSecrets(t.Context(), map[string]string{"c1/KEY": "k1", "c2/KEY": "k2"}, "%s")
	if err != nil {
		t.Fatal(err)
	}
	own, err := a.ownPath()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		t.Fatal(err)
	}
	entry := "[servers.c1]\ncommand = \"x\"\nenv = { KEY = \"${secret:c1/KEY}\" }\n" // of the other command
	if err := os.WriteFile(own, []byte(entry), 0o600); err != nil {
		t.Fatal(err)
	}
	undo()
	v, err := a.openVault()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"c1/KEY": true, "c2/KEY": false} {
		if _, found, err := v.LoadSecret(t.Context(), name); found != want || err != nil {
			t.Errorf("%s: it is there %v, %v; want %v", name, found, err, want)
		}
	}
}
