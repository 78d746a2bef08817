package main

import (
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/pluginstore"
)

// What is installed is told with the lines that use it: of a provider that wants to
// give material, those too that entries without a url take.
func TestMention(t *testing.T) {
	for _, tt := range []struct {
		plugin   pluginstore.Installed
		provider *step.Manifest
		want     string
	}{
		{pluginstore.Installed{Name: "pigeon", Kind: pluginstore.Transport}, nil, `server entries use it with transport = "pigeon"`},
		{pluginstore.Installed{Name: "owl", Kind: pluginstore.Provider}, &step.Manifest{}, `server entries use it with auth = "owl"`},
		{pluginstore.Installed{Name: "owl", Kind: pluginstore.Provider}, &step.Manifest{Wants: step.Wants{Material: true}},
			`server entries use it with auth = "owl", those of a stream with auth = { provider = "owl", blob = true },` +
				` those of a process with auth = { provider = "owl", variables = ["…"] }`},
		{pluginstore.Installed{Name: "owl", Kind: pluginstore.Provider}, &step.Manifest{Wants: step.Wants{Requests: true, Body: true}},
			`server entries use it with auth = { provider = "owl", request_body = true }`},
	} {
		o := &pluginstore.Offer{Plugin: tt.plugin, Info: &pluginstore.Info{Provider: tt.provider}}
		if got := mention(o); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
