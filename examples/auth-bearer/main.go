// Command bearer is the twin in Go of plugins/bearer, which is in C and ships with Wharf:
// the auth provider for a token that the user already has. The host looks up the
// token where the configuration says; the provider only says where in a request it goes.
package main

import "github.com/wharf-mcp/wharf/sdk/auth"

func init() { auth.Register(manifest, bearer{}) }

func main() {}

var manifest = auth.Manifest{
	Name:    "bearer",
	Version: "0.1.0",
	About:   "a token out of the configuration",
	Settings: []auth.Setting{
		{Key: "token", About: "the token", Required: true, Secret: true},
		{Key: "header", About: "the header that it goes in; Authorization if it is not said"},
		{Key: "scheme", About: `the word before it; Bearer in Authorization and none in another header, "" for none`},
	},
	Wants: auth.Wants{Material: true},
}
