//go:build !wasip1

package policy

// Register makes decide the policy of this plugin. It is called once, from an init function of package main.
// In a native build it does nothing: a test calls decide itself.
func Register(Manifest, func(*Call) Verdict) {}
