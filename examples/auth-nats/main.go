// Command auth-nats is an auth provider that Wharf does not ship: it signs in to a
// NATS server. The transport puts the provider's fields into the CONNECT message of the
// protocol. The README of transport-nats says how to use it.
package main

import (
	"encoding/json"

	"github.com/wharf-mcp/wharf/sdk/auth"
)

func init() { auth.Register(manifest, provider{}) }

func main() {}

var manifest = auth.Manifest{
	Name:    "nats-login",
	Version: "0.1.0",
	About:   "signs in to a NATS server with a token, or with a user and a password",
	Settings: []auth.Setting{
		{Key: "token", About: "the token of the server", Secret: true},
		{Key: "user", About: "the name of a user"},
		{Key: "password", About: "the password of the user", Secret: true},
	},
	Wants: auth.Wants{Material: true},
}

// provider has no state: it uses the settings alone.
type provider struct{}

// connect holds the fields under the names that NATS has for them.
type connect struct {
	Token    string `json:"auth_token,omitempty"`
	User     string `json:"user,omitempty"`
	Password string `json:"pass,omitempty"`
}

// SignIn gives the fields of a JSON object without its braces: the transport adds
// fields of its own, and cannot look at these.
func (provider) SignIn(f *auth.Flow) error {
	if f.Start().Reason == auth.ReasonLogout {
		return nil // nothing is saved that could be forgotten
	}
	var s struct{ Token, User, Password string }
	if err := f.Settings(&s); err != nil {
		return err
	}
	if (s.Token == "") == (s.User == "") || (s.User == "") != (s.Password == "") {
		return auth.Misconfigured("auth of "+f.Start().Server.Name+" wants either a token, or a user and a password",
			`write auth = { provider = "nats-login", blob = true, token = "${NATS_TOKEN}" }`)
	}
	fields, err := json.Marshal(connect{s.Token, s.User, s.Password})
	if err != nil {
		return err
	}
	f.Material(auth.Material{Blob: fields[1 : len(fields)-1]})
	return nil
}
