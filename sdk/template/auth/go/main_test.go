//go:build !wasip1

package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth/authtest"
)

// Each flow is a start, a person, a vault, and the actions that come of it. It runs
// natively: no sandbox, no server, and a debugger works.
func TestFlows(t *testing.T) {
	saved := step.RecordKey{Name: "key", Resource: "https://loft.example/mcp"}
	for _, tt := range []struct {
		name, reason, settings string
		alone                  bool   // there is no person
		kept                   string // in the vault before
		want                   []string
		header, key            string // that requests carry afterwards
		left                   string // in the vault afterwards
	}{
		{name: "nothing saved", reason: step.ReasonInitial, want: []string{"load key", "done"}},
		{name: "saved", reason: step.ReasonInitial, kept: "k1", want: []string{"load key", "credentials", "done"}, header: "X-Api-Key", key: "k1", left: "k1"},
		{name: "refused", reason: step.ReasonChallenged, kept: "k1", want: []string{"prompt", "store key", "credentials", "done"}, header: "X-Api-Key", key: "typed", left: "typed"},
		{name: "login", reason: step.ReasonLogin, settings: `{"header":"X-Loft"}`, want: []string{"prompt", "store key", "credentials", "done"}, header: "X-Loft", key: "typed", left: "typed"},
		{name: "nobody there", reason: step.ReasonChallenged, alone: true, want: []string{"fail login"}},
		{name: "logout", reason: step.ReasonLogout, want: []string{"forget key", "done"}},
		{name: "configured", reason: step.ReasonInitial, settings: `{"key":"k2"}`, want: []string{"credentials", "done"}, header: "X-Api-Key", key: "k2"},
		{name: "configured and refused", reason: step.ReasonChallenged, settings: `{"key":"k2"}`, want: []string{"fail config"}},
		{name: "no header", reason: step.ReasonInitial, settings: `{"key":"k\n2"}`, want: []string{"fail config"}},
		{name: "more rights", reason: step.ReasonUpscope, want: []string{"fail config"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := &authtest.Host{Type: func(*step.Prompt) (string, bool) { return "typed", true }}
			if tt.kept != "" {
				h.Vault.Put(saved, tt.kept)
			}
			start := step.Start{Reason: tt.reason, Interactive: !tt.alone, Server: step.Server{Name: "loft", Resource: saved.Resource}}
			if tt.settings != "" {
				start.Settings = json.RawMessage(tt.settings)
			}
			out, err := h.Run(provider{}, start)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(out.Lines, tt.want) {
				t.Errorf("actions %q, want %q", out.Lines, tt.want)
			}
			if tt.header != "" && (out.Credentials == nil || out.Credentials.Headers[tt.header] != tt.key) {
				t.Errorf("credentials %+v, want %s: %s", out.Credentials, tt.header, tt.key)
			}
			var left string
			if h.Vault.Get(saved, &left); left != tt.left {
				t.Errorf("the vault holds %q, want %q", left, tt.left)
			}
		})
	}
}
