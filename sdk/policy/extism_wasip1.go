package policy

import "github.com/wharf-mcp/wharf/sdk/internal/kernel"

// The policy of this module; there is only one.
var (
	decider  func(*Call) Verdict
	manifest Manifest
)

// Register makes decide the policy of this plugin. It is called once, from an init function of package main.
func Register(m Manifest, decide func(*Call) Verdict) { manifest, decider = m, decide }

//go:wasmexport wharf_policy_describe
func describe() int32 { return kernel.Reply(Describe(manifest), nil) }

//go:wasmexport wharf_policy_decide
func decide() int32 {
	if decider == nil {
		panic("policy: there is none: call policy.Register in an init function of package main")
	}
	return kernel.Reply(Decide(decider, kernel.Input()))
}
