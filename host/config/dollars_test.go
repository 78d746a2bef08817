package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// dollarFiles are files of clients in JSON with one server named x, whose keys stand in the place of %s.
var dollarFiles = map[string]string{
	"claude_desktop_config.json": `{"mcpServers": {"x": %s}}`, ".claude.json": `{"mcpServers": {"x": %s}}`, ".mcp.json": `{"mcpServers": {"x": %s}}`,
	".cursor/mcp.json": `{"mcpServers": {"x": %s}}`, "windsurf/mcp_config.json": `{"mcpServers": {"x": %s}}`, "cline_mcp_settings.json": `{"mcpServers": {"x": %s}}`,
	".roo/mcp.json": `{"mcpServers": {"x": %s}}`, ".kiro/settings/mcp.json": `{"mcpServers": {"x": %s}}`, "mcporter.json": `{"mcpServers": {"x": %s}}`,
	"mcp-config.json": `{"mcpServers": {"x": %s}}`, ".vscode/mcp.json": `{"servers": {"x": %s}}`, "amp/settings.json": `{"amp.mcpServers": {"x": %s}}`,
	".junie/mcp/mcp.json": `{"mcpServers": {"x": %s}}`, ".lmstudio/mcp.json": `{"mcpServers": {"x": %s}}`, "amazonq/mcp.json": `{"mcpServers": {"x": %s}}`,
	"mcphub/servers.json": `{"mcpServers": {"x": %s}}`, "any.json": `{"mcpServers": {"x": %s}}`, "zed/settings.json": `{"context_servers": {"x": %s}}`,
}

// given returns what a server gets by a file: by the file itself, and as import writes it.
func given(t *testing.T, path, entry string, environment map[string]string) (direct, imported Server, wrong error) {
	t.Helper()
	f, err := Parse(path, fmt.Appendf(nil, dollarFiles[path], entry))
	if err != nil || len(f.Servers) != 1 {
		t.Fatalf("%s: %+v, %v", path, f, err)
	}
	lookup := func(name string) (string, bool) { value, set := environment[name]; return value, set }
	complete := func(s Server, secrets map[string]string) Server {
		expanded, err := s.Expand(lookup)
		if err != nil {
			wrong = err
			return Server{}
		}
		values := make(map[Reference]string)
		for name, value := range secrets {
			values[Reference{Secret: name}] = value
		}
		resolved, err := expanded.Resolve(values)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return resolved
	}
	secrets := make(map[string]string)
	entryOfOurs, _ := f.Servers[0].Adopt(secrets, make(map[string]string))
	for _, value := range slices.Concat(entryOfOurs.Args, slices.Collect(maps.Values(entryOfOurs.Env))) {
		if strings.Contains(value, "s3cr3t") {
			t.Errorf("%s: a secret stands in the clear: %s", path, value)
		}
	}
	return complete(f.Servers[0], nil), complete(entryOfOurs, secrets), wrong
}

// Nothing escapes a dollar sign in the files of clients: two of them are two for the server, also of what import
// writes, and of what goes to the vault.
func TestTwoDollars(t *testing.T) {
	for path := range dollarFiles {
		for _, text := range []string{"pa$$word", "a$$", "$$$b", "a$$$$b", "$", "${", "a$${", "$5"} {
			quoted, err := json.Marshal(text)
			if err != nil {
				t.Fatal(err)
			}
			entry := fmt.Sprintf(`{"command": "c", "args": [%[1]s], "env": {"DB_PASS": %[1]s, "API_TOKEN": %[1]s}}`, quoted)
			direct, imported, err := given(t, path, entry, nil)
			if err != nil {
				t.Errorf("%s, %s: %v", path, text, err)
				continue
			}
			for way, s := range map[string]Server{"direct": direct, "imported": imported} {
				if s.Args[0] != text || s.Env["DB_PASS"] != text || s.Env["API_TOKEN"] != text {
					t.Errorf("%s, %s: %s: %q, %q", path, text, way, s.Args, s.Env)
				}
			}
		}
	}
}

// A name in braces that the entry itself sets is never that of the environment. Clients that replace no such name give
// it on, and the server may replace it.
func TestVariablesOfTheEntry(t *testing.T) {
	bare := []string{".claude.json", ".mcp.json", ".kiro/settings/mcp.json", "mcporter.json", "mcp-config.json", "amp/settings.json", ".junie/mcp/mcp.json", "mcphub/servers.json", "any.json"}
	const entry = `{"command": "npx", "args": ["--header", "Authorization:${AUTH_HEADER}", "${PLAIN}", "${env:HOME}", "$${PLAIN}"],
		"env": {"AUTH_HEADER": "Bearer s3cr3t-$$-9", "PLAIN": "a$${AUTH_HEADER}", "HOME": "/h:${HOME}"}}`
	shell := map[string]string{"AUTH_HEADER": "of the shell", "PLAIN": "of the shell", "HOME": "/root"}
	for path := range dollarFiles {
		direct, imported, err := given(t, path, entry, shell)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		want := []string{"--header", "Authorization:${AUTH_HEADER}", "${PLAIN}", "/h:${HOME}", "$${PLAIN}"}
		home := "/h:${HOME}"
		switch {
		case slices.Contains(bare, path):
			home = "/h:/root"
			want = []string{"--header", "Authorization:Bearer s3cr3t-$$-9", "a$of the shell", home, "$a$of the shell"}
		case path == "claude_desktop_config.json" || path == "zed/settings.json":
			want[3] = "${env:HOME}"
		}
		for way, s := range map[string]Server{"direct": direct, "imported": imported} {
			if !slices.Equal(s.Args, want) || s.Env["AUTH_HEADER"] != "Bearer s3cr3t-$$-9" || s.Env["HOME"] != home {
				t.Errorf("%s: %s: %q, %q, want %q", path, way, s.Args, s.Env, want)
			}
		}
	}
}

// A variable that is set nowhere is a mistake where the client replaces it, and a text where it does not.
func TestVariablesSetNowhere(t *testing.T) {
	bare := []string{".claude.json", ".mcp.json", ".kiro/settings/mcp.json", "mcporter.json", "mcp-config.json", "amp/settings.json", ".junie/mcp/mcp.json", "mcphub/servers.json", "any.json"}
	for path := range dollarFiles {
		direct, _, err := given(t, path, `{"command": "bash", "args": ["-c", "X=1; echo ${X} $X"]}`, nil)
		if slices.Contains(bare, path) {
			if err == nil || !strings.Contains(err.Error(), "the variable X is not set") {
				t.Errorf("%s: %v", path, err)
			}
		} else if err != nil || direct.Args[1] != "X=1; echo ${X} $X" {
			t.Errorf("%s: %q, %v", path, direct.Args, err)
		}
	}
}

// What the variables of an entry make of its other values is bounded.
func TestVariablesOfTheEntryAreBounded(t *testing.T) {
	entry := `{"command": "c", "args": ["` + strings.Repeat("${A}", 1000) + `"], "env": {"A": "` + strings.Repeat("a", 10000) + `"}}`
	f, err := Parse("any.json", fmt.Appendf(nil, dollarFiles["any.json"], entry))
	if err != nil {
		t.Fatal(err)
	}
	shell := func(string) (string, bool) { return "of the shell", true }
	if _, err := f.Servers[0].Expand(shell); err == nil || !strings.Contains(err.Error(), "${A} puts more than 256 KiB into the values of the entry; write shorter ones") {
		t.Errorf("%.300v", err)
	}
	imported, _ := f.Servers[0].Adopt(make(map[string]string), make(map[string]string))
	s, err := imported.Expand(shell)
	if err != nil || len(s.Args[0]) > 2*maxOwn || strings.Contains(s.Args[0], "shell") {
		t.Errorf("%d bytes, %v", len(s.Args[0]), err)
	}
}

// Words that a person typed are in the file what they are on the spot.
func TestEscape(t *testing.T) {
	lookup := func(name string) (string, bool) { return "of " + name, name == "SET" }
	for words, want := range map[string][2]string{
		"pa$$word": {"pa$$word", "pa$$word"}, "a$": {"a$", "a$"}, "$${SET}": {"$${SET}", "$of SET"}, "x${SET}z": {"x${SET}z", "xof SETz"},
		"${": {"${", "${"}, "${env:SET}": {"of SET", "of SET"}, "$${env:SET}$$": {"$of SET$$", "$of SET$$"}, "${a b": {"${a b", "${a b"},
	} {
		for i, names := range []bool{false, true} {
			pieces, errs := split(Escape(words, names), vars{lookup: lookup})
			if got := joined(pieces); got != want[i] || len(errs) > 0 {
				t.Errorf("%s, %v: %s, %v, want %s", words, names, got, errs, want[i])
			}
		}
	}
}

// What means a secret or a file in Wharf's own file is a text in that of a client, and a project cannot name one
// by a variable either. A file of no client may be written for Wharf.
func TestSecretsOfWharfAreTexts(t *testing.T) {
	const entry = `{"command": "c", "args": ["${secret:github}", "a$${file:/etc/passwd}"], "env": {"A": "${file:/etc/passwd}"}}`
	for path := range dollarFiles {
		f, err := Parse(path, fmt.Appendf(nil, dollarFiles[path], entry))
		if err != nil || len(f.Servers) != 1 {
			t.Fatalf("%s: %+v, %v", path, f, err)
		}
		if path == "any.json" {
			if got := f.Servers[0].Secrets(); len(got) != 2 {
				t.Errorf("%s: %v", path, got)
			}
			continue
		}
		if path == "windsurf/mcp_config.json" { // which has ${file:PATH} too
			if got := f.Servers[0].Secrets(); !slices.Equal(got, []Reference{{File: "/etc/passwd"}}) {
				t.Errorf("%s: %v", path, got)
			}
			continue
		}
		want := "env.A: is the text ${file:/etc/passwd}, as in " + f.Client + "; it means a secret or a file in wharf.toml alone"
		if said := strings.Join(f.Notes, "\n"); !strings.Contains(said, want) {
			t.Errorf("%s: said %q", path, said)
		}
		direct, imported, err := given(t, path, entry, nil)
		for way, s := range map[string]Server{"direct": direct, "imported": imported} {
			if err != nil || !slices.Equal(s.Args, []string{"${secret:github}", "a$${file:/etc/passwd}"}) || s.Env["A"] != "${file:/etc/passwd}" {
				t.Errorf("%s: %s: %q, %q, %v", path, way, s.Args, s.Env, err)
			}
		}
	}
	for path, file := range map[string]string{
		".codex/config.toml":    "[mcp_servers.x]\ncommand = 'c'\nenv_vars = ['secret:github']\n[mcp_servers.y]\nurl = 'https://a.example'\nenv_http_headers = { A = 'file:/etc/passwd' }\n",
		"goose/config.yaml":     "extensions:\n  x: {type: stdio, cmd: c, args: ['${secret:github}'], env_keys: ['secret:github']}\n",
		".gemini/settings.json": `{"mcpServers": {"x": {"command": "c", "args": ["${secret:github}"]}}}`,
		"mcphub/servers.json":   `{"mcpServers": {"x": {"command": "c", "env": {"secret:github": null}}}}`,
		"crush.json":            `{"mcp": {"x": {"type": "stdio", "command": "c", "args": ["${PATH:?is missing}", "x${secret:github}"]}}}`,
		"opencode.json":         `{"mcp": {"x": {"type": "local", "command": ["c", "{env:secret:github}", "{secret:github}"]}}}`,
		".continue/config.yaml": "mcpServers:\n  - {name: x, command: c, args: ['${secret:github}']}\n",
	} {
		f, err := Parse(path, []byte(file))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, s := range f.Servers {
			if got := s.Secrets(); len(got) > 0 {
				t.Errorf("%s: server %s means %v", path, s.Name, got)
			}
		}
		if said := strings.Join(f.Warnings, "\n"); strings.Contains(said, "holds ${secret:github}, which Crush has a shell work out") != (path == "crush.json") {
			t.Errorf("%s: said %q", path, said)
		}
	}
}
