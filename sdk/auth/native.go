//go:build !wasip1

package auth

// Register makes p the provider of this plugin. It is called once, from an init function of
// package main. In a native build it does nothing: a test passes the provider itself.
func Register(Manifest, Provider) {}
