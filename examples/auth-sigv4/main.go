// Command auth-sigv4 is an auth provider that Wharf does not ship: it signs every
// request by itself, as AWS demands (Signature Version 4). Copy it for a provider
// of your own; README.md says how to build and use it.
package main

import (
	"encoding/json"
	"time"

	"github.com/wharf-mcp/wharf/sdk/auth"
)

func init() { auth.Register(manifest, sigv4{}) }

func main() {}

// manifest tells Wharf about the provider before its first call. The provider calls
// no server and shows nothing, so it wants nothing but the requests.
var manifest = auth.Manifest{
	Name:    "sigv4",
	Version: "1.0.0",
	About:   "signs each request with an AWS access key (Signature Version 4)",
	Settings: []auth.Setting{
		{Key: "access_key_id", About: "the id of the access key", Required: true},
		{Key: "secret_access_key", About: "the secret of the access key", Required: true, Secret: true},
		{Key: "session_token", About: "the token of a temporary access key", Secret: true},
		{Key: "region", About: `where the server is, as in "eu-central-1"`, Required: true},
		{Key: "service", About: `which service signs for, as in "bedrock-agentcore"`, Required: true},
	},
	Wants: auth.Wants{Requests: true},
}

// sigv4 has no state: the host keeps the access key, and gives it to Sign.
type sigv4 struct{}

// SignIn is called before the first request, and again when the server has refused
// one. It has no credentials to give: Sign makes those for each request.
func (sigv4) SignIn(f *auth.Flow) error {
	start := f.Start()
	if start.Challenge != nil {
		return auth.Misconfigured("the server "+start.Server.Name+" does not take the signature",
			"check the access key, region and service of "+start.Server.Name+", and the clock of this machine")
	}
	var k accessKey
	if err := f.Settings(&k); err != nil {
		return err
	}
	if err := k.check(); err != nil {
		return auth.Misconfigured("auth of "+start.Server.Name+": "+err.Error(), "")
	}
	return f.Keep(k)
}

// Sign returns the headers to add to those of a request.
func (sigv4) Sign(r *auth.Request, now int64, kept json.RawMessage) (map[string]string, error) {
	var k accessKey
	if err := json.Unmarshal(kept, &k); err != nil {
		return nil, err
	}
	return k.sign(r, time.UnixMilli(now))
}
