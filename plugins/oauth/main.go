// Command oauth is the auth provider for servers that want OAuth, as the
// authorization chapter of the Model Context Protocol has it: it finds the
// authorization server, registers with it, sends the person there, and keeps
// the token fresh.
package main

import "github.com/wharf-mcp/wharf/sdk/auth"

func init() { auth.Register(manifest, oauth{}) }

func main() {}

var manifest = auth.Manifest{
	Name:     "oauth",
	Version:  "0.1.0",
	About:    "signs in with OAuth, in the browser or without a person",
	Settings: manifestSettings,
	Wants:    auth.Wants{Discover: true, Browser: true, Prompt: true, Keys: true},
}
