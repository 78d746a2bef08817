//go:build !unix || darwin

package vault

// reachable says yes: asking the keyring starts nothing.
func reachable() error { return nil }
