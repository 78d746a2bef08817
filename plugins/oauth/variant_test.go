//go:build !wasip1

package main

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
)

const (
	ada = "e30.eyJpc3MiOiJpZHAiLCJzdWIiOiJhZGEifQ.c2ln" // of {"iss":"idp","sub":"ada"}
	bob = "e30.eyJpc3MiOiJpZHAiLCJzdWIiOiJib2IifQ.c2ln"
)

// Entries with one url that sign in in different ways have a sign-in each, and a logout of one leaves
// those of the others.
func TestEntriesOfOneURL(t *testing.T) {
	machine := object{"grant": "client_credentials", "client_id": "robot", "client_secret": "s"}
	entries := []object{
		{},
		{"account": "work"},
		{"account": "home"},
		{"account": "home", "dpop": "on"},
		{"account": "home, dpop=on"},
		{"client_id": "mine"},
		{"client_id": "mine", "scopes": []string{"read"}},
		{"scopes": []string{"read"}},
		{"dpop": "on"},
		{"dpop": "off"},
		machine,
		{"authorize_params": object{"login_hint": "ada"}},
		{"authorization_server": as},
		{"resource": "none"},
		{"resource": ""},
		{"grant": "jwt_bearer", "jwt": ada},
		{"grant": "jwt_bearer", "jwt": bob},
		{"scopes": []string{strings.Repeat("long", 200)}},
		{"scopes": []string{strings.Repeat("long", 201)}},
	}
	w := newWorld(t)
	w.meta["token_endpoint_auth_methods_supported"] = []string{methodNone, methodBasic}
	tokens := make([]string, len(entries))
	w.grants = func(form url.Values) (int, object) {
		status, body := w.issue(form)
		if w.settings["dpop"] == "on" {
			body["token_type"] = "DPoP"
		}
		return status, body
	}
	for i, entry := range entries {
		w.settings = entry
		if out := w.alone(step.ReasonInitial, nil); out.Credentials != nil {
			t.Errorf("%v has the sign-in of another: %+v", entry, out.Credentials)
		}
		out := w.run(step.ReasonChallenged, refused(""))
		if out.Fail != nil || out.Credentials == nil {
			t.Fatalf("%v: %+v", entry, out.Fail)
		}
		tokens[i] = out.Credentials.Token
	}
	if n := w.savedTokens(); n != len(entries) {
		t.Errorf("%d tokens of %d entries", n, len(entries))
	}
	for i, entry := range entries {
		w.settings = entry
		w.mustGive(w.alone(step.ReasonInitial, nil), tokens[i])
		w.alone(step.ReasonLogout, nil)
		if n := w.savedTokens(); n != len(entries)-i-1 {
			t.Fatalf("after the logout of %v, %d tokens are left", entry, n)
		}
	}
}

// Each setting makes another sign-in or does not, and the reference says which do.
func TestVariantOfEachSetting(t *testing.T) {
	reference, err := os.ReadFile("../../docs/REFERENCE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(reference), "Each has its own where one of these differs: ")
	listed, _, _ := strings.Cut(text, ". ")
	variant := func(o object) string {
		t.Helper()
		s := settings{Grant: grantCode, DPoP: dpopAuto}
		text, err := json.Marshal(o)
		if err == nil {
			err = json.Unmarshal(text, &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		return s.variant()
	}
	jwt := func(claims string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
	}
	values := map[string]any{
		"scopes": []string{"a"}, "authorize_params": object{"a": "b"}, "callback_port": 1, "grant": grantDevice, "dpop": dpopOn,
		"jwt": ada, "id_token": ada,
	}
	seen := map[string]string{"": "none"}
	for _, setting := range manifestSettings {
		value := values[setting.Key]
		if value == nil {
			value = "https://a.example/b"
		}
		v := variant(object{setting.Key: value})
		if v == "" != !strings.Contains(listed, "`"+setting.Key+"`") {
			t.Errorf("%s makes the variant %q, and the reference lists %s", setting.Key, v, listed)
		}
		if v != "" && seen[v] != "" {
			t.Errorf("%s makes the variant of %s", setting.Key, seen[v])
		}
		seen[v] = setting.Key
	}
	for _, setting := range []string{"jwt", "id_token"} {
		one := variant(object{setting: jwt(`{"iss":"a","sub":"b"}`)})
		if one == variant(object{setting: jwt(`{"iss":"c","sub":"b"}`)}) || one != variant(object{setting: jwt(`{"sub":"b","iss":"a","exp":1}`)}) {
			t.Errorf("%s: its issuer does not count, or its end does", setting)
		}
	}
	for _, long := range []object{{"account": strings.Repeat("x", 10_000)}, {"scopes": []string{strings.Repeat("x", 10_000)}}} {
		if v := variant(long); len(v) > longestVariant {
			t.Errorf("a variant has %d bytes", len(v))
		}
	}
}

// Entries with one url that sign in in the same way have one sign-in: what only says how to get it
// makes no other, and neither does what is renewed.
func TestEntriesThatShare(t *testing.T) {
	for _, same := range [][2]object{
		{{}, {"callback_port": 4321, "dpop": "auto", "grant": "authorization_code"}},
		{{"scopes": []string{"a", "b"}}, {"scopes": []string{"b", "a"}}},
		{{"client_id": "mine", "client_secret": "old"}, {"client_id": "mine", "client_secret": "new"}},
		{{"grant": "jwt_bearer", "jwt": ada}, {"grant": "jwt_bearer", "jwt": strings.Replace(ada, "c2ln", "bmV3", 1)}},
	} {
		w := newWorld(t)
		w.settings = same[0]
		if same[0]["client_secret"] != nil {
			w.meta["token_endpoint_auth_methods_supported"] = []string{methodBasic}
		}
		w.mustGive(w.run(step.ReasonChallenged, refused("")), "token-1")
		w.settings = same[1]
		w.mustGive(w.alone(step.ReasonInitial, nil), "token-1")
	}
}

// A sign-in of an earlier version, which had one for all entries of a url, goes to the first entry that
// would lead to it. The others leave it, and sign in anew.
func TestSignInOfAnEarlierVersion(t *testing.T) {
	registered := client{Kind: kindRegistered, ID: "registered", Method: methodNone}
	given := client{Kind: kindGiven, ID: "mine", Method: methodNone}
	document := client{Kind: kindDocument, ID: "https://client.example/wharf", Method: methodNone}
	for _, tt := range []struct {
		name     string
		settings object
		client   client
		grant    string
		bound    string
		want     bool
	}{
		{"no settings", object{}, registered, grantCode, "", true},
		{"no settings, and another's client", object{}, given, grantCode, "", false},
		{"no settings, and a machine", object{}, given, grantClient, "", false},
		{"no settings, and a typed token", object{}, client{Kind: kindPerson}, grantCode, "", true},
		{"its client", object{"client_id": "mine"}, given, grantCode, "", true},
		{"a client, and another's", object{"client_id": "other"}, given, grantCode, "", false},
		{"its client and scopes", object{"client_id": "mine", "scopes": []string{"a"}}, given, grantCode, "", true},
		{"other scopes", object{"scopes": []string{"a", "c"}}, registered, grantCode, "", false},
		{"another's document", object{}, document, grantCode, "", false},
		{"its document", object{"client_metadata_url": document.ID}, document, grantCode, "", true},
		{"its client, and a typed token", object{"client_id": "mine"}, client{Kind: kindPerson}, grantCode, "", false},
		{"a device, and a typed token", object{"grant": "device_code"}, client{Kind: kindPerson}, grantCode, "", false},
		{"whom its assertion is about", object{"grant": "jwt_bearer", "jwt": ada}, client{Kind: kindGiven, Method: methodNone}, grantWorkload, "", false},
		{"whom its id_token is about", object{
			"grant": "enterprise", "client_id": "mine", "id_token": ada, "idp_client_id": "idp", "idp_token_endpoint": as + "/idp",
		}, given, grantEnterprise, "", false},
		{"a token that is not bound", object{"dpop": "on"}, registered, grantCode, "", false},
		{"a token that is bound", object{"dpop": "on"}, registered, grantCode, "ES256", true},
		{"a token that shall not be bound", object{"dpop": "off"}, registered, grantCode, "ES256", false},
		{"an account", object{"account": "work"}, registered, grantCode, "", false},
		{"another authorization server", object{"authorization_server": "https://next.example"}, registered, grantCode, "", false},
		{"another resource", object{"resource": "none"}, registered, grantCode, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.settings = tt.settings
			before := step.RecordKey{Name: "binding", Resource: mcp}
			issuer := as
			if tt.client.Kind == kindPerson {
				issuer = ""
			}
			old := step.RecordKey{Name: "token", Issuer: issuer, Resource: mcp, Client: tt.client.ID}
			w.host.Vault.Put(before, binding{Issuer: issuer, Client: tt.client.ID, Kind: tt.client.Kind, Grant: tt.grant, Scope: []string{"a", "b"}})
			w.host.Vault.Put(old, token{
				Access: "kept", Scheme: "Bearer", Refresh: "refresh-0", Born: begin, Expires: begin + 3_600_000,
				Source: source{Issuer: issuer, Endpoint: as + "/token", Resource: mcp, DPoP: tt.bound, Client: tt.client},
			})
			out := w.alone(step.ReasonInitial, nil)
			if got := out.Credentials != nil && out.Credentials.Token == "kept"; got != tt.want {
				t.Fatalf("it is used: %v\n%s", got, strings.Join(out.Lines, "\n"))
			}
			if !tt.want {
				w.alone(step.ReasonLogout, nil)
			}
			if left := w.host.Vault.Get(before, &binding{}); left == tt.want || w.savedTokens() != 1 {
				t.Errorf("the former record is there: %v, and %d tokens", left, w.savedTokens())
			}
			if tt.want {
				w.mustGive(w.alone(step.ReasonInitial, nil), "kept")
				w.host.Now += 3_600_000
				w.grants = func(form url.Values) (int, object) {
					status, body := w.issue(form)
					if tt.bound != "" {
						body["token_type"] = "DPoP"
					}
					return status, body
				}
				w.mustGive(w.alone(step.ReasonExpired, nil), "token-1")
				w.alone(step.ReasonLogout, nil)
				if n := w.savedTokens(); n != 0 {
					t.Errorf("%d tokens are left", n)
				}
			}
		})
	}
}

// What another process has taken over meanwhile is not taken over again.
func TestTakenOverMeanwhile(t *testing.T) {
	w := newWorld(t)
	before := step.RecordKey{Name: "binding", Resource: mcp}
	w.host.Vault.Put(before, binding{Issuer: as, Client: "registered", Kind: kindRegistered, Grant: grantCode})
	w.host.Vault.Locking = func(key step.RecordKey) {
		w.host.Vault.Put(key, "nothing that can be read")
		w.host.Vault.Put(step.RecordKey{Name: "sign-in", Resource: mcp}, binding{Issuer: as, Client: "registered", Kind: kindRegistered, Grant: grantCode})
	}
	w.mustDo(w.alone(step.ReasonInitial, nil), "load sign-in\nload binding\nload token\nload binding, locked\nload sign-in\nload token\ndone")
}

// Each record that is locked to take over a sign-in is stored or forgotten, which unlocks it: the flow may
// go on with a person, who takes minutes.
func TestTakenOverIsUnlocked(t *testing.T) {
	w := newWorld(t)
	w.host.Vault.Put(step.RecordKey{Name: "binding", Resource: mcp}, binding{Issuer: as, Client: "registered", Kind: kindRegistered, Grant: grantCode})
	w.host.Vault.Put(step.RecordKey{Name: "token", Issuer: as, Resource: mcp, Client: "registered"}, token{
		Access: "kept", Scheme: "Bearer", Source: source{Issuer: as, Client: client{Kind: kindRegistered, ID: "registered"}},
	})
	w.mustDo(w.alone(step.ReasonInitial, nil), `load sign-in
		load binding
		load token
		load binding, locked
		load token, locked
		store token
		store sign-in
		forget binding
		load token
		credentials Bearer
		done`)
}
