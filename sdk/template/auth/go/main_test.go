//go:build !wasip1

package main

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/sdk/auth"
	"github.com/wharf-mcp/wharf/sdk/auth/authtest"
)

// The servers of the tests: one with a url, a stream and a process.
var (
	loft  = auth.Server{Name: "loft", Resource: "https://loft.example/mcp"}
	coop  = auth.Server{Name: "coop", Blob: true}
	aerie = auth.Server{Name: "aerie", Variables: []string{"KEY", "AERIE_KEY"}}
)

// flow is one of SignIn: a start, a person, a vault, and what comes of it.
type flow struct {
	name, reason, settings string
	server                 auth.Server
	alone                  bool   // there is no person
	kept                   string // in the vault before
	want                   []string
	headers                map[string]string // that requests carry afterwards
	material               auth.Material     // that the server gets
	left                   string            // in the vault afterwards
}

var flows = []flow{
	{name: "nothing saved", reason: auth.ReasonInitial, server: loft, want: []string{"load key", "done"}},
	{name: "saved", reason: auth.ReasonInitial, server: loft, kept: "k1", want: []string{"load key", "credentials", "done"},
		headers: map[string]string{"X-Api-Key": "k1"}, left: "k1"},
	{name: "refused", reason: auth.ReasonChallenged, server: loft, kept: "k1", want: []string{"prompt", "credentials", "store key", "done"},
		headers: map[string]string{"X-Api-Key": "typed"}, left: "typed"},
	{name: "login", reason: auth.ReasonLogin, server: loft, settings: `{"header":"X-Loft"}`, want: []string{"prompt", "credentials", "store key", "done"},
		headers: map[string]string{"X-Loft": "typed"}, left: "typed"},
	{name: "no person", reason: auth.ReasonChallenged, server: loft, alone: true, want: []string{"fail login"}},
	{name: "logout", reason: auth.ReasonLogout, server: loft, kept: "k1", want: []string{"load key, locked", "forget key", "done"}},
	{name: "logout of nothing", reason: auth.ReasonLogout, server: loft, want: []string{"load key, locked", "forget key", "done"}},
	{name: "configured", reason: auth.ReasonInitial, server: loft, settings: `{"key":"k2"}`, want: []string{"credentials", "done"},
		headers: map[string]string{"X-Api-Key": "k2"}},
	{name: "configured and refused", reason: auth.ReasonChallenged, server: loft, settings: `{"key":"k2"}`, want: []string{"fail config"}},
	{name: "no header", reason: auth.ReasonInitial, server: loft, settings: `{"key":"k\n2"}`, want: []string{"fail config"}},
	{name: "more rights", reason: auth.ReasonUpscope, server: loft, want: []string{"fail config"}},

	{name: "nothing saved for a stream", reason: auth.ReasonInitial, server: coop, want: []string{"load key", "done"}},
	{name: "saved for a stream", reason: auth.ReasonInitial, server: coop, kept: "k1", want: []string{"load key", "material", "done"},
		material: auth.Material{Blob: []byte("k1")}, left: "k1"},
	{name: "login to a stream", reason: auth.ReasonLogin, server: coop, want: []string{"prompt", "material", "store key", "done"},
		material: auth.Material{Blob: []byte("typed")}, left: "typed"},
	{name: "logout of a stream", reason: auth.ReasonLogout, server: coop, kept: "k1", want: []string{"load key, locked", "forget key", "done"}},
	{name: "configured for a process", reason: auth.ReasonInitial, server: aerie, settings: `{"key":"k2"}`, want: []string{"material", "done"},
		material: auth.Material{Env: map[string]string{"KEY": "k2", "AERIE_KEY": "k2"}}},
}

// It runs natively: no sandbox, no server, and a debugger works.
func TestFlows(t *testing.T) {
	for _, f := range flows {
		t.Run(f.name, func(t *testing.T) {
			h := &authtest.Host{Type: func(*auth.Prompt) (string, bool) { return "typed", true }}
			if f.kept != "" {
				h.Vault.Put(record(f.server), f.kept)
			}
			start := auth.Start{Reason: f.reason, Interactive: !f.alone, Server: f.server, Settings: json.RawMessage(f.settings)}
			out, err := h.Run(provider{}, start)
			if err != nil {
				t.Fatal(err)
			}
			f.compare(t, out)
			var left string
			if h.Vault.Get(record(f.server), &left); left != f.left {
				t.Errorf("the vault holds %q, want %q", left, f.left)
			}
		})
	}
}

// compare holds what a flow has come to against what it should.
func (f flow) compare(t *testing.T, out *authtest.Outcome) {
	t.Helper()
	var c auth.Credentials
	if out.Credentials != nil {
		c = *out.Credentials
	}
	var m auth.Material
	if out.Material != nil {
		m = *out.Material
	}
	if !slices.Equal(out.Lines, f.want) {
		t.Errorf("actions %q, want %q", out.Lines, f.want)
	}
	if !maps.Equal(c.Headers, f.headers) {
		t.Errorf("headers %v, want %v", c.Headers, f.headers)
	}
	if string(m.Blob) != string(f.material.Blob) || !maps.Equal(m.Env, f.material.Env) {
		t.Errorf("material %+v, want %+v", m, f.material)
	}
}

// Each server has a key of its own, with a url or without.
func TestRecords(t *testing.T) {
	if a, b := record(coop), record(aerie); a == b {
		t.Errorf("%+v is the record of both", a)
	}
}
