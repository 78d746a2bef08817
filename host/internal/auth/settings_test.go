package auth

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
)

// What the manifest calls secret is hidden, whatever its name is.
func TestSecretSettings(t *testing.T) {
	known := []step.Setting{
		{Key: "pin", Secret: true}, {Key: "more", Kind: step.SettingList, Secret: true},
		{Key: "extra", Kind: step.SettingTable, Secret: true}, {Key: "url"}, {Key: "unset", Secret: true},
	}
	var hidden []string
	c := Config{
		Hide: func(texts ...string) { hidden = append(hidden, texts...) },
		Settings: func(context.Context) (json.RawMessage, error) {
			return json.RawMessage(`{"pin":"one","more":["two",3],"extra":{"k":"four"},"url":"shown"}`), nil
		},
	}
	if _, err := c.settings(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	if want := []string{"one", "two", "four"}; !slices.Equal(hidden, want) {
		t.Errorf("hidden are %q, want %q", hidden, want)
	}
}

func TestSettings(t *testing.T) {
	known := []step.Setting{
		{Key: "url", About: "where it is", Required: true}, {Key: "name", Kind: step.SettingText},
		{Key: "scopes", Kind: step.SettingList}, {Key: "extra", Kind: step.SettingTable}, {Key: "dpop", Kind: step.SettingFlag},
	}
	tests := []struct{ values, problem string }{
		{`{"url":"u","name":"n","scopes":["a"],"extra":{"k":"v"},"dpop":true}`, ""},
		{`{"url":"u"}`, ""},
		{`{}`, "auth.url is missing: where it is"},
		{`{"url":7}`, "auth.url: expected a text"},
		{`{"url":"u","scopes":"a"}`, "auth.scopes: expected a list"},
		{`{"url":"u","extra":[]}`, "auth.extra: expected a table"},
		{`{"url":"u","dpop":"true"}`, "auth.dpop: expected true or false"},
		{`{"ulr":"a-canary"}`, "auth.ulr: there is no such key; there are url, name, scopes, extra, dpop"},
		{`{"url":"u","scope":"a-canary"}`, "auth.scope: there is no such key; there are url, name, scopes, extra, dpop"},
	}
	for _, test := range tests {
		var values map[string]any
		if err := json.Unmarshal([]byte(test.values), &values); err != nil {
			t.Fatal(err)
		}
		err := checkValues(known, values)
		switch {
		case test.problem == "" && err != nil, test.problem != "" && err == nil:
			t.Errorf("%s: error %v, want %q", test.values, err, test.problem)
		case err != nil && (!strings.Contains(err.Error(), test.problem) || strings.Contains(err.Error(), "canary")):
			t.Errorf("%s: error %v, want %q", test.values, err, test.problem)
		}
	}
}
