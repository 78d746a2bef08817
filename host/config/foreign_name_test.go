package config

import (
	"strings"
	"testing"
)

// A server that gets another name does not take that of a server of the file, which would then be
// called by mistake.
func TestRenamedServersTakeNoName(t *testing.T) {
	long := strings.Repeat("n", 70)
	for text, want := range map[string]string{
		`{"mcpServers": {"a b": {"command": "first"}, "a-b": {"command": "second"}}}`:                              "a-b-2=first a-b=second",
		`{"mcpServers": {"a-b": {"command": "second"}, "a b": {"command": "first"}, "a/b": {"command": "third"}}}`: "a-b=second a-b-2=first a-b-3=third",
		`{"mcpServers": {"a b": {"command": "x"}, "a-b-2": {"command": "y"}, "a/b": {"command": "z"}}}`:            "a-b=x a-b-2=y a-b-3=z",
		`{"mcpServers": {"a b": {"command": "x"}}, "servers": {"a-b": {"command": "y"}}}`:                          "a-b-2=x a-b=y",
		`{"mcpServers": {"a b": {"command": "x"}, "a-b": {"command": 1}}}`:                                         "a-b-2=x",
		`{"mcpServers": [{"name": "server 2", "command": "x"}, {"command": "y"}]}`:                                 "server-2-2=x server-2=y",
		`{"mcpServers": {"` + long + `": {"command": "x"}, "` + long + `2": {"command": "y"}}}`:                    long[:64] + "=x " + long[:59] + "-2=y",
		`{"mcpServers": {"a b": {"command": "x"}}, "projects": {"/p": {"mcpServers": {"a-b": {"command": "y"}}}}}`: "a-b=x",
	} {
		file, err := Parse("mcp.json", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range file.Servers {
			got = append(got, s.Name+"="+s.Command)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s; %v", text, got, want, file.Warnings)
		}
		if said := strings.Join(file.Warnings, "\n"); strings.Contains(said, "twice") {
			t.Errorf("%s: warns %s", text, said)
		}
	}
}
