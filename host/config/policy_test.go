package config

import (
	"reflect"
	"strings"
	"testing"
)

func TestPolicy(t *testing.T) {
	f, err := Parse("w.toml", []byte(`[policy.notes]
plugin = "paths"
servers = ["files", "db-*"]
arguments = true
settings = { folder = "/srv", names = ["path"], strict = true, more = { a = "b" } }
[policy.all]
plugin = "readonly"
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Policy{
		{Name: "notes", Plugin: "paths", Servers: []string{"files", "db-*"}, Arguments: true, Place: "w.toml:1",
			Settings: map[string]any{"folder": "/srv", "names": []string{"path"}, "strict": true, "more": map[string]string{"a": "b"}}},
		{Name: "all", Plugin: "readonly", Place: "w.toml:6"},
	}
	if !reflect.DeepEqual(f.Policies, want) {
		t.Errorf("got %+v", f.Policies)
	}
	for text, problem := range map[string]string{
		`policy = "x"`:                                    "write [policy.NAME]",
		"[policy.a]":                                      "is no name of a plugin",
		"[policy.a]\nplugin = \"x/y.wasm\"":               "write [plugins.a]",
		"[policy.a]\nplugin = \"x\"\nallow = []":          "goes into [policy.a.settings]",
		"[policy.a]\nplugin = \"x\"\nservers = [\"a/b\"]": "no pattern of a server's name",
		"[policy.a]\nplugin = \"x\"\nsettings = { key = { secret = \"S\" } }": "a policy is given no secret",
		"[policy.a]\nplugin = \"x\"\narguments = \"yes\"":                     "true or false",
	} {
		if _, err := Parse("w.toml", []byte(text)); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v, want %q", text, err, problem)
		}
	}
}
