// Command pigeon is an auth provider for Wharf: an API key that a person is asked for
// once, that is kept in the vault, and that goes with each request in a header, or to a
// server that is a stream or a process. README.md says how to build, test and use it,
// and what to change first.
package main

import "github.com/wharf-mcp/wharf/sdk/auth"

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
	Wants: auth.Wants{Prompt: true, Material: true},
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
// and waits, and does not wait. Each call of f that has an answer (Load, Prompt, Store,
// Forget, HTTP, …) ends a step. When the answer is there, SignIn runs again from its
// first line, and calls whose answers are known return at once. So it must do the same
// each time that it gets the same answers, and keeps nothing in variables outside.
//
//	start initial             → load → done: the server may not want a key
//	start initial, one saved  → load → credentials or material, done
//	start challenged or login → prompt → credentials or material, store → done
//	start logout              → load, locked → forget → done
//
// A server that is a stream or a process cannot say that it wants a key. If a flow for it
// ends without one, Wharf says that a sign-in is missing, and `wharf login` asks.
func (provider) SignIn(f *auth.Flow) error {
	start := f.Start()
	s := settings{Header: "X-Api-Key"}
	if err := f.Settings(&s); err != nil {
		return err
	}
	saved := record(start.Server)
	switch {
	case start.Reason == auth.ReasonLogout:
		return forget(f, saved)
	case start.Reason == auth.ReasonUpscope:
		return auth.Misconfigured("the key of "+start.Server.Name+" does not allow what was asked", "ask those who gave it for more rights")
	case s.Key != "" && start.Reason == auth.ReasonChallenged:
		return auth.Misconfigured("the server "+start.Server.Name+" does not take the key that is configured for it", "")
	case s.Key != "":
		return give(f, s.Header, s.Key)
	}
	if start.Reason != auth.ReasonChallenged && start.Reason != auth.ReasonLogin {
		var key string
		if found, _ := f.Load(saved, &key); !found {
			return nil // a server that wants a key says so, and the flow after that asks
		}
		return give(f, s.Header, key)
	}
	return ask(f, s.Header, saved)
}

// record names the record of a server. Other providers have their own. A server without
// a url has no resource, so the name of its entry tells its record from others.
func record(server auth.Server) auth.RecordKey {
	if server.Resource == "" {
		return auth.RecordKey{Name: "key", Client: server.Name}
	}
	return auth.RecordKey{Name: "key", Resource: server.Resource}
}

// forget removes the key that is saved. Forget removes the record that was loaded, and the lock
// keeps other processes from saving another one in between. A key that cannot be read is removed
// too.
func forget(f *auth.Flow, saved auth.RecordKey) error {
	var key string
	_, _ = f.LoadLocked(saved, &key)
	return f.Forget(saved)
}

// ask asks the person for the key, and saves it. If the vault does not work, this sign-in
// succeeds all the same, and the person is asked again the next time. That is why errors of
// the vault are ignored, here and in forget.
func ask(f *auth.Flow, header string, saved auth.RecordKey) error {
	server := f.Start().Server.Name
	if !f.Start().Interactive {
		return auth.NeedsLogin("the server "+server+" wants an API key", "")
	}
	key, err := f.Prompt(auth.Prompt{Label: "API key of " + server, Secret: true})
	if err != nil {
		return err
	}
	if key == "" {
		return auth.NeedsLogin("no API key was given for "+server, "")
	}
	if err := give(f, header, key); err != nil {
		return err
	}
	_ = f.Store(saved, key)
	return nil
}

// give says what the server gets from now on. Requests carry the key in a header. A
// server whose entry says that it is a stream or a process gets the key as it is. Wharf
// puts the key there: the transport does not see the key, and the provider sees no
// request.
func give(f *auth.Flow, header, key string) error {
	if to := f.Start().Server; to.Blob || len(to.Variables) > 0 {
		f.Material(material(to, key))
		return nil
	}
	if err := auth.CheckHeader(header, key); err != nil {
		return auth.Misconfigured("auth of "+f.Start().Server.Name+": "+err.Error(), "")
	}
	f.Credentials(auth.Credentials{Headers: map[string]string{header: key}})
	return nil
}

// material is the key, for a stream and for each variable of a process.
func material(to auth.Server, key string) (m auth.Material) {
	if to.Blob {
		m.Blob = []byte(key)
	}
	if len(to.Variables) > 0 {
		m.Env = make(map[string]string)
	}
	for _, name := range to.Variables {
		m.Env[name] = key
	}
	return m
}
