package auth

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/vault"
	"github.com/wharf-mcp/wharf/sdk/auth"
)

// places are servers of which no two are the same.
var places = []step.Server{
	{Name: "a", URL: "https://a.example/mcp", Resource: "https://a.example/mcp"},
	{Name: "b", URL: "https://b.example", Resource: "https://b.example"},
	{Name: "below", URL: "https://b.example/mcp", Resource: "https://b.example/mcp"}, {Name: "long", URL: "https://b.example/mcp2", Resource: "https://b.example/mcp2"},
	{Name: "port", URL: "https://a.example:444/mcp", Resource: "https://a.example:444/mcp"},
	{Name: "plain", URL: "http://a.example/mcp", Resource: "http://a.example/mcp"},
	{Name: "socket", URL: "unix:///run/a.sock#/mcp", Resource: "http://localhost/mcp"},
	{Name: "other", URL: "unix:///run/b.sock#/mcp", Resource: "http://localhost/mcp"},
	{Name: "local", URL: "http://localhost/mcp", Resource: "http://localhost/mcp"},
	{Name: "process"}, {Name: "https://a.example"}, {Name: "a.example"},
}

// TestRecordsAreOfOneServer has a provider reach for one record in all the ways that
// name no other server, from servers that have nothing to do with each other.
func TestRecordsAreOfOneServer(t *testing.T) {
	seen := map[vault.Key]string{}
	for _, server := range places {
		f := &flow{config: &Config{Name: "corp", Vault: newMemory(), Server: server}}
		for _, k := range []step.RecordKey{
			{Name: "token"}, {Name: "token", Issuer: "https://sso.example"}, {Name: "token", Client: "all"},
			step.RegistrationKey("https://sso.example"), {Name: "token", Resource: server.Resource, Client: "x"},
		} {
			key, err := f.record(k)
			if before, there := seen[key]; err != nil || there {
				t.Errorf("%s: %+v: %v, and %q has it", server.Name, k, err, before)
			}
			seen[key] = server.Name
			for _, other := range places {
				if IsOf(key, &other) != (key.Resource != "" && other.Name == server.Name) {
					t.Errorf("%+v of %s is one of %s", key, server.Name, other.Name)
				}
			}
		}
		if holder := keyHolder(&server); seen[vault.Key{Name: holder}] != "" {
			t.Errorf("%s has the keys of %s", server.Name, seen[vault.Key{Name: holder}])
		} else {
			seen[vault.Key{Name: holder}] = server.Name
		}
		for _, other := range []string{"origin https://b.example", "entry process", "socket unix:///run/b.sock", "origin:https://b.example"} {
			if key, err := f.record(step.RecordKey{Name: "token", Resource: other}); err == nil {
				t.Errorf("%s: the resource %q is %v", server.Name, other, key)
			}
		}
	}
}

// TestServersOfOneOrigin have records of their own where their paths differ: they may be
// those of two owners. The name of the entry and how the address is written do not matter.
func TestServersOfOneOrigin(t *testing.T) {
	for _, k := range []step.RecordKey{{Name: "session"}, {Name: "session", Resource: "https://mcp.example"}, {Name: "session", Resource: "https://mcp.example/b"}} {
		var keys []vault.Key
		for _, server := range []step.Server{
			{Name: "a", URL: "https://mcp.example/a", Resource: "https://mcp.example/a"},
			{Name: "b", URL: "https://MCP.example:443/b?c=d", Resource: "https://mcp.example/b"},
			{Name: "c", URL: "https://mcp.example/b/", Resource: "https://mcp.example/b"},
		} {
			f := &flow{config: &Config{Name: "corp", Vault: newMemory(), Server: server}}
			key, err := f.record(k)
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, key)
		}
		if keys[0] == keys[1] || keys[1] != keys[2] {
			t.Errorf("%+v: %v", k, keys)
		}
	}
}

// TestRecordsOfAnOrigin are those that an earlier version has kept for all servers of an
// origin. No server gets one, and the person is told.
func TestRecordsOfAnOrigin(t *testing.T) {
	for _, old := range []vault.Key{{Provider: "corp", Resource: "origin https://a.example", Name: "key"}, {Provider: "corp", Resource: "https://a.example/other", Name: "key"}} {
		key := step.RecordKey{Name: "key"}
		if !strings.HasPrefix(old.Resource, "origin ") {
			key.Resource = old.Resource
		}
		found, warned := false, 0
		c := setup(signIn(func(f *auth.Flow) (err error) {
			var value string
			found, err = f.Load(key, &value)
			return err
		}))
		c.Server, c.Warn = places[0], func(string) { warned++ }
		c.Vault.Store(t.Context(), old, secret.New(`"canary"`))
		if _, err := runFlow(t, c, step.Start{}); err != nil || found || warned != 1 {
			t.Errorf("%v: found %v, warned %d times, %v", old, found, warned, err)
		}
	}
}

// TestSharedRegistrations are common to all servers where that is granted, under the
// key that they have always had; nothing but registrations is.
func TestSharedRegistrations(t *testing.T) {
	granted := Grant{Registrations: true}
	for _, tt := range []struct {
		grant  Grant
		key    step.RecordKey
		shared bool
	}{
		{granted, step.RegistrationKey("https://sso.example"), true},
		{granted, step.RegistrationKey("https://sso.example/tenant"), true},
		{Grant{}, step.RegistrationKey("https://sso.example"), false},
		{granted, step.RegistrationKey(""), false},
		{granted, step.RegistrationKey("token-of-a"), false},
		{granted, step.RecordKey{Name: "registration", Issuer: "https://sso.example", Client: "x"}, false},
		{granted, step.RecordKey{Name: "token", Issuer: "https://sso.example"}, false},
	} {
		c := setup(nil)
		c.Grant = tt.grant
		f := &flow{config: &c}
		key, err := f.record(tt.key)
		old := vault.Key{Provider: "corp", Name: tt.key.Name, Issuer: tt.key.Issuer, Client: tt.key.Client}
		if err != nil || (key == old) != tt.shared || f.shares(tt.key) != tt.shared {
			t.Errorf("%+v with %+v: %v, %v", tt.key, tt.grant, key, err)
		}
	}
}

// TestWhatIsSharedIsARegistration and nothing that only looks like one to others.
func TestWhatIsSharedIsARegistration(t *testing.T) {
	for value, want := range map[string]string{
		`{"kind":"registered","id":"x","secret":"s","method":"none","redirect":"http://127.0.0.1:1/callback","expires":7}`: "",
		`{"id":"x","token":"canary"}`: "not of the contract",
		`"canary"`:                    "not of the contract",
		`{"id":"` + strings.Repeat("x", maxKeyPart+1) + `"}`: "more than 2048 bytes",
	} {
		key := step.RegistrationKey("https://sso.example")
		c := setup(replies([]step.Action{{Kind: step.ActionStore, Store: &step.Store{Key: key, Value: []byte(value)}}}, []step.Action{done}))
		c.Grant.Registrations = true
		_, err := runFlow(t, c, step.Start{})
		if want != "" {
			wantError(t, err, Broken, want)
		}
		if contains(err, "canary") || (err == nil) != (want == "") || len(c.Vault.(*memory).records) != 0 && want != "" {
			t.Errorf("%.60s: %v", value, err)
		}
		unbound := vault.Key{Provider: "corp", Issuer: key.Issuer, Name: key.Name}
		c.Vault.Store(t.Context(), unbound, secret.New(value)) // by whatever version
		found := false
		c.Provider = func(context.Context) (Provider, error) {
			return signIn(func(f *auth.Flow) (err error) {
				var r step.Registration
				found, err = f.Load(key, &r)
				return err
			}), nil
		}
		if _, err := runFlow(t, c, step.Start{}); err != nil || found != (want == "") {
			t.Errorf("%.60s: found %v, %v", value, found, err)
		}
	}
}

// TestRecordsOfBefore are those that an earlier version has kept for all servers. No
// server gets one, and the person is told; the next sign-in makes a record that stays.
func TestRecordsOfBefore(t *testing.T) {
	for _, server := range []step.Server{places[0], {Name: "loft"}} {
		key := step.RecordKey{Name: "key", Client: server.Name}
		var found bool
		c := setup(signIn(func(f *auth.Flow) (err error) {
			var value string
			if found, err = f.Load(key, &value); found || err != nil {
				return err
			}
			return f.Store(key, "new")
		}))
		var warned []string
		c.Server, c.Warn = server, func(text string) { warned = append(warned, text) }
		c.Vault.Store(t.Context(), vault.Key{Provider: "corp", Client: server.Name, Name: "key"}, secret.New(`"canary"`))
		for _, want := range []bool{false, true} {
			if _, err := runFlow(t, c, step.Start{}); err != nil || found != want {
				t.Errorf("%s: found %v, %v", server.Name, found, err)
			}
		}
		if len(warned) != 1 || !strings.Contains(warned[0], "sign in again") || !strings.Contains(warned[0], server.Name) || strings.Contains(warned[0], "canary") {
			t.Errorf("%s: the person is told %q", server.Name, warned)
		}
	}
}

// TestMaterialBeforeAnythingIsLoaded is asked of a lazy account, whose provider is not
// there yet.
func TestMaterialBeforeAnythingIsLoaded(t *testing.T) {
	c := setup(counting(0))
	c.Lazy, c.Server, c.Grant.Variables = true, step.Server{Name: "loft", Variables: []string{"TOKEN"}}, []string{"TOKEN"}
	_, err := account(t, c).Material(t.Context())
	wantError(t, err, step.FailLogin, "no person has signed in")
}

// BenchmarkAccountsInTurn is a step where each account has an idle instance, and where
// there are more accounts than instances are kept.
func BenchmarkAccountsInTurn(b *testing.B) {
	for _, n := range []int{1, 4, 8} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p, err := newEngine(b, Fuel).Load(b.Context(), "corp", guestBinary(b))
			if err != nil {
				b.Fatal(err)
			}
			accounts := make([]Provider, n)
			for i := range accounts {
				accounts[i] = ForAccount(p)
			}
			for i := 0; b.Loop(); i++ {
				if _, err := accounts[i%n].Step(b.Context(), start("")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
