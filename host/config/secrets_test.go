package config

import (
	"slices"
	"testing"
)

// TestPlainSecrets names the places of what stands in the clear, and not those that refer to a secret.
func TestPlainSecrets(t *testing.T) {
	s := Server{
		Command: "x", Args: []string{"--api-key", "hunter2hunter2"},
		Env: map[string]string{"A_TOKEN": "${A_TOKEN}", "B_TOKEN": "hunter2", "C_TOKEN": "${secret:c}", "HOME": "/home"},
	}
	if got, want := s.PlainSecrets(), []string{"args.api-key", "env.B_TOKEN"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
