package main

import (
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
