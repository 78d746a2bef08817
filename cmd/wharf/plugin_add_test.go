package main

import (
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host"
)

// What is installed is told with the lines that use it: of a provider that wants to
// give material, those too that entries without a url take.
func TestMention(t *testing.T) {
	for _, tt := range []struct {
		plugin   host.Installed
		provider *host.ProviderInfo
		want     string
	}{
		{host.Installed{Name: "pigeon", Kind: host.KindTransport}, nil, `transport = "pigeon"`},
		{host.Installed{Name: "owl", Kind: host.KindProvider}, &host.ProviderInfo{}, `auth = "owl"`},
		{host.Installed{Name: "owl", Kind: host.KindProvider}, &host.ProviderInfo{Wants: step.Wants{Material: true}},
			`auth = "owl", those of a stream with auth = { provider = "owl", blob = true },` +
				` those of a process with auth = { provider = "owl", variables = ["…"] }`},
	} {
		o := &host.Offer{Plugin: tt.plugin, Info: &host.PluginInfo{Provider: tt.provider}}
		if got := mention(o); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
