//go:build !wasip1

package auth

// Register makes p the provider of this plugin. It is called once, from an init
// function of package main. Natively it does nothing: a test has the provider.
func Register(Manifest, Provider) {}
