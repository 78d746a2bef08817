// Command sealer is an auth provider for tests: what signs in to a byte stream is
// its setting "blob", what signs in a process is "env", and without either
// a person has to sign in first.
package main

import (
	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

type sealer struct{}

func init() {
	auth.Register(auth.Manifest{
		Name: "sealer", Version: "1.0.0", About: "for tests",
		Settings: []auth.Setting{
			{Key: "blob", About: "what it gives to a stream"},
			{Key: "env", About: "what it gives to a process", Kind: step.SettingTable},
		},
		Wants: auth.Wants{Material: true},
	}, sealer{})
}

func (sealer) SignIn(f *auth.Flow) error {
	var s struct {
		Blob string
		Env  map[string]string
	}
	if err := f.Settings(&s); err != nil {
		return err
	}
	if s.Blob == "" && s.Env == nil {
		return auth.NeedsLogin("there is no blob", "")
	}
	f.Material(auth.Material{Blob: []byte(s.Blob), Env: s.Env})
	return nil
}

func main() {}
