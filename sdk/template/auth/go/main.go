// Command pigeon is an auth provider for Wharf: an API key that a person is asked for
// once, that is kept in the vault, and that goes with each request in a header.
// README.md says how to build, test and use it, and what to change first.
package main

import (
	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

func init() { auth.Register(manifest, provider{}) }

func main() {}

// manifest is what Wharf knows of the provider before it asks anything. An action
// that is not wanted here is refused: add Origins before you call f.HTTP.
var manifest = auth.Manifest{
	Name:    "pigeon",
	Version: "0.1.0",
	About:   "an API key, asked for once",
	Settings: []auth.Setting{
		{Key: "key", About: "the key; without it a person is asked, and it is kept in the vault", Secret: true},
		{Key: "header", About: "the header that it goes in; X-Api-Key if it is not said"},
	},
	Wants: auth.Wants{Prompt: true},
}

// settings are what the auth table of a server entry says.
type settings struct {
	Key    string `json:"key"`
	Header string `json:"header"`
}

// provider has no state: Wharf may take another instance for the next step, and what
// has to be remembered is in the flow or in the vault.
type provider struct{}

// SignIn is one flow, from the question to its end. It reads like a program that calls
// and waits, and is none: each call of f that has an answer (Load, Prompt, Store,
// Forget, HTTP, …) ends a step, and when the answer is there SignIn runs again from its
// first line, with the answers it had so far. So it must do the same each time that it
// gets the same answers, and keeps nothing in variables outside.
//
//	start initial             → load → done: the server may not want a key
//	start initial, one saved  → load → credentials, done
//	start challenged or login → prompt → store → credentials, done
//	start logout              → forget → done
func (provider) SignIn(f *auth.Flow) error {
	start := f.Start()
	s := settings{Header: "X-Api-Key"}
	if err := f.Settings(&s); err != nil {
		return err
	}
	saved := auth.RecordKey{Name: "key", Resource: start.Server.Resource}
	switch {
	case start.Reason == step.ReasonLogout:
		return f.Forget(saved)
	case start.Reason == step.ReasonUpscope:
		return auth.Misconfigured("the key of "+start.Server.Name+" does not allow what was asked", "ask those who gave it for more rights")
	case s.Key != "" && start.Reason == step.ReasonChallenged:
		return auth.Misconfigured("the server "+start.Server.Name+" does not take the key that is configured for it", "")
	case s.Key != "":
		return give(f, s.Header, s.Key)
	}
	if start.Reason != step.ReasonChallenged && start.Reason != step.ReasonLogin {
		var key string
		if found, _ := f.Load(saved, &key); !found {
			return nil // a server that wants a key says so, and the flow after that asks
		}
		return give(f, s.Header, key)
	}
	return ask(f, s.Header, saved)
}

// ask asks the person. A vault that does not work costs them another question the
// next time, and no sign-in now, so its errors count as nothing here and above.
func ask(f *auth.Flow, header string, saved auth.RecordKey) error {
	server := f.Start().Server.Name
	if !f.Start().Interactive {
		return auth.NeedsLogin("the server "+server+" wants an API key", "")
	}
	key, err := f.Prompt(auth.Prompt{Label: "API key of " + server, Secret: true})
	if err != nil {
		return err
	}
	_ = f.Store(saved, key)
	return give(f, header, key)
}

// give says what requests to the server carry from now on. Wharf puts it there: the
// transport does not see it, and the provider sees no request.
func give(f *auth.Flow, header, key string) error {
	if err := auth.CheckHeader(header, key); err != nil {
		return auth.Misconfigured("auth of "+f.Start().Server.Name+": "+err.Error(), "")
	}
	f.Credentials(auth.Credentials{Headers: map[string]string{header: key}})
	return nil
}
