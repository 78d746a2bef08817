package extism

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/step"
)

// TestParts is about the last part that is read, and about commas that are none.
func TestParts(t *testing.T) {
	var list struct{ A []int }
	read := func(n int) error { return Decode([]byte(`{"a":[0`+strings.Repeat(",0", n)+`]}`), &list) }
	if err := read(maxParts); err != nil || len(list.A) != maxParts+1 {
		t.Errorf("at the bound: %d, %v", len(list.A), err)
	}
	if err := read(maxParts + 1); err == nil || err.Error() != "it has 50001 parts, there may be 50000" {
		t.Errorf("one over: %v", err)
	}
	for text, want := range map[string]int{`[1,2]`: 1, `",,"`: 0, `["\",\"",","]`: 1, `["\\",0]`: 1, `"`: 0, `"\`: 0} {
		if got := parts([]byte(text)); got != want {
			t.Errorf("%s has %d parts, want %d", text, got, want)
		}
	}
}

func TestCheckValues(t *testing.T) {
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
		err := CheckValues("auth", known, values)
		switch {
		case test.problem == "" && err != nil, test.problem != "" && err == nil:
			t.Errorf("%s: error %v, want %q", test.values, err, test.problem)
		case err != nil && (!strings.Contains(err.Error(), test.problem) || strings.Contains(err.Error(), "canary")):
			t.Errorf("%s: error %v, want %q", test.values, err, test.problem)
		}
	}
}
