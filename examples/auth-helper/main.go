// Command helper is the twin in Go of plugins/helper, which is in C and ships with Wharf:
// the auth provider that runs a program of the user's. The command of the server entry
// prints the headers of a request as JSON. It is run again when they expire or the server
// refuses them.
package main

import "github.com/wharf-mcp/wharf/sdk/auth"

func init() { auth.Register(manifest, helper{}) }

func main() {}

var manifest = auth.Manifest{
	Name:    "helper",
	Version: "0.1.0",
	About:   "headers that a program of yours prints",
	Wants:   auth.Wants{Run: true},
}
