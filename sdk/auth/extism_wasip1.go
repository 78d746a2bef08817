package auth

import "github.com/wharf-mcp/wharf/sdk/internal/kernel"

// The provider of this module; there is only one.
var (
	provider Provider
	manifest Manifest
)

// Register makes p the provider of this plugin. It is called once, from an init
// function of package main.
func Register(m Manifest, p Provider) { manifest, provider = m, p }

//go:wasmexport wharf_auth_describe
func describe() int32 {
	return kernel.Reply(Describe(manifest), nil)
}

//go:wasmexport wharf_auth_step
func takeStep() int32 {
	if provider == nil {
		panic("auth: no provider: call auth.Register in an init function of package main")
	}
	return kernel.Reply(Step(provider, kernel.Input()))
}
