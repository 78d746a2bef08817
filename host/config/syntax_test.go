package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// What Windsurf takes from a file is taken from it here, by the file itself and as import writes it.
func TestFilesOfWindsurf(t *testing.T) {
	const value = "Bearer ${file:/run/token}"
	f, err := Parse("windsurf/mcp_config.json", []byte(`{"mcpServers": {"x": {"serverUrl": "https://a.example/mcp", "headers": {"Authorization": "`+value+`", "X": "${secret:a}"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	adopted, _ := f.Servers[0].Adopt(make(map[string]string), make(map[string]string))
	for _, s := range []Server{f.Servers[0], adopted} {
		expanded, err := s.Expand(unset)
		if err != nil {
			t.Fatal(err)
		}
		resolved, err := expanded.Resolve(map[Reference]string{{File: "/run/token"}: "sesame"})
		if err != nil || resolved.Headers["Authorization"] != "Bearer sesame" || resolved.Headers["X"] != "${secret:a}" {
			t.Errorf("%+v, %v", resolved.Headers, err)
		}
	}
	if said := strings.Join(f.Notes, "\n"); strings.Contains(said, "${file") || !strings.Contains(said, "headers.X: is the text ${secret:a}, as in Windsurf") {
		t.Errorf("said %q", said)
	}
}

// A variable that is not set, and a text for that, makes no url: the error says that it is to be set.
func TestUnsetInURL(t *testing.T) {
	f, err := Parse(".roo/mcp.json", []byte(`{"mcpServers": {"x": {"type": "streamable-http", "url": "https://${env:UNSET}/mcp"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Servers[0].Expand(unset); err == nil || !strings.HasSuffix(err.Error(), "url: is no url with a variable in it that is not set; set that") {
		t.Error(err)
	}
}

// What a server gets of a value is what the client would give it, by the file itself and as import writes it, and a
// note says so where it may not be what was meant.
func TestSyntaxes(t *testing.T) {
	for name, value := range map[string]string{"SET": "s", "EMPTY": "", "UNSET": "", "word": ""} {
		t.Setenv(name, value)
		if value == "" && name != "EMPTY" {
			_ = os.Unsetenv(name)
		}
	}
	const mcphub, gemini, goose, crush, vscode, roo, opencode = "mcphub/servers.json", ".gemini/settings.json", "goose/config.yaml", "crush.json", ".vscode/mcp.json", ".roo/mcp.json", "opencode.json"
	files := map[string]string{
		mcphub: `{"mcpServers": {"x": %s}}`, gemini: `{"mcpServers": {"x": %s}}`, goose: `{"extensions": {"x": %s}}`,
		crush: `{"mcp": {"x": %s}}`, vscode: `{"servers": {"x": %s}}`, ".cursor/mcp.json": `{"mcpServers": {"x": %s}}`, opencode: `{"mcp": {"x": %s}}`,
		roo: `{"mcpServers": {"x": %s}}`,
	}
	for _, tt := range []struct{ path, entry, want, note string }{
		// mcp-hub
		{mcphub, `{"command": "c", "args": ["$SET", "$OWN", "a$SET", "$5", "${env:SET}"], "env": {"OWN": "o"}}`, `["s" "o" "a$SET" "$5" "s"] map[OWN:o] map[]`, ""},
		{mcphub, `{"command": "c", "env": {"SET": "", "EMPTY": null, "K": "$SET"}}`, `[] map[EMPTY: K:$SET SET:s] map[]`, "env.K: is the text $SET, and no variable; write ${SET} for that"},
		{mcphub, `{"command": "c", "args": ["$UNSET"]}`, "args[0]: the variable UNSET is not set; set it", ""},
		{mcphub, `{"command": "c", "env": {"UNSET": ""}}`, "env.UNSET: the variable UNSET is not set; set it", ""},
		{".cursor/mcp.json", `{"command": "c", "args": ["$SET"], "env": {"SET": ""}}`, `["$SET"] map[SET:] map[]`, "args[0]: is the text $SET, and no variable; write ${env:SET} for that"},

		// Gemini CLI
		{gemini, `{"command": "c", "args": ["pa$$word", "pa$word", "$SET", "${SET}", "[$EMPTY]", "$5", "a$$$SET", "${", "${a b}", "${UNSET:-d}"]}`,
			`["pa$$word" "pa$word" "s" "s" "[]" "$5" "a$$s" "${" "${a b}" "d"] map[] map[]`,
			"the variable word is not set; until it is, it stands for the text that is written there, as in Gemini CLI, whose later releases leave it empty in env and headers"},
		{gemini, `{"command": "c", "args": ["${UNSET:-d}"]}`, `["d"] map[] map[]`, ""},

		// Goose
		{goose, `{"type": "streamable_http", "uri": "https://a.example/$OWN/$SET", "headers": {"A": "pa$$word", "B": "$SET", "C": "Bearer $OWN", "D": "${ SET }", "E": "$$OWN", "F": "a$${SET}"}, "envs": {"OWN": "o"}}`,
			`[] map[] map[A:pa$$word B:$SET C:Bearer o D:${ SET } E:$o F:a$${SET}] https://a.example/o/$SET`, "headers.B: is the text $SET"},
		{goose, `{"type": "streamable_http", "uri": "https://a.example", "headers": {"D": "${ SET }${OWN}"}, "envs": {"OWN": "o"}, "env_keys": ["SET"]}`, `[] map[] map[D:so]`, ""},
		{goose, `{"type": "stdio", "cmd": "c", "args": ["$OWN"], "envs": {"OWN": "o$SET"}}`, `["$OWN"] map[OWN:o$SET] map[]`, "args[0]: is the text $OWN, and no variable"},

		// Crush
		{crush, `{"type": "stdio", "command": "c", "args": ["pa$$word", "$5x", "a\\$SET", "a\\\\$SET", "\\${SET}", "$$${SET}", "a$", "\\n", "${UNSET:-d}"], "env": {"K": "a$$${SET}"}}`,
			`["paword" "x" "a$SET" "a\\s" "${SET}" "s" "a$" "\\n" "d"] map[K:as] map[]`, ""},
		{crush, `{"type": "http", "url": "https://a.example", "headers": {"A": "pa$$word"}}`, `[] map[] map[A:paword]`, ""},
		{crush, `{"type": "stdio", "command": "c", "args": ["a${UNSET}b", "$UNSET", "$(echo x $UNSET)"], "env": {"K": "$word"}}`, `["ab" "" "x "] map[K:] map[]`,
			"the variable UNSET is not set; until it is, it stands for an empty text, as in Crush"},
		{crush, `{"type": "stdio", "command": "c", "args": ["${UNSET:?is missing}"]}`, "args[0]: the variable UNSET is not set; set it, or write ${UNSET:-default}", ""},
		{crush, `{"type": "stdio", "command": "c", "args": ["${UNSET:-}"]}`, `[""] map[] map[]`, "the variable UNSET is not set; until it is, it stands for an empty text"},
		{crush, `{"type": "http", "url": "https://a.example", "headers": {"A": "$UNSET", "B": "${UNSET}", "C": "$(echo $EMPTY)", "D": "", "E": "x $UNSET", "F": "$SET", "G": "${UNSET:-d}"}}`,
			`[] map[] map[E:x  F:s G:d]`, "headers.A: is left out until the variable UNSET is set, as in Crush"},

		// opencode
		{opencode, `{"type": "local", "command": ["c", "a{env:UNSET}b", "{env:SET}", "{env:EMPTY}"], "environment": {"K": "{env:UNSET}"}}`, `["ab" "s" ""] map[K:] map[]`,
			"the variable UNSET is not set; until it is, it stands for an empty text, as in opencode"},

		// VS Code
		{vscode, `{"command": "c", "args": ["a${env:UNSET}b", "${env:SET:-d}", "${SET}"]}`, `["ab" "s" "${SET}"] map[] map[]`, "the variable UNSET is not set; until it is, it stands for an empty text, as in VS Code"},
		{vscode, `{"command": "c", "args": ["${env:SET}"]}`, `["s"] map[] map[]`, ""},

		// Roo Code
		{roo, `{"command": "c", "args": ["a${env:UNSET}b", "${env:SET}", "${SET}", "${config:x}"], "env": {"K": "${env:UNSET}"}}`,
			`["a${env:UNSET}b" "s" "${SET}" "${config:x}"] map[K:${env:UNSET}] map[]`, "the variable UNSET is not set; until it is, it stands for the text that is written there, as in Roo Code"},
		{roo, `{"command": "c", "args": ["${env:SET}"]}`, `["s"] map[] map[]`, ""},
	} {
		f, err := Parse(tt.path, fmt.Appendf(nil, files[tt.path], tt.entry))
		if err != nil || len(f.Servers) != 1 {
			t.Errorf("%s: %s: %+v, %v", tt.path, tt.entry, f, err)
			continue
		}
		said := strings.Join(f.Notes, "\n")
		if tt.note == "" && (strings.Contains(said, "no variable") || strings.Contains(said, "until it is")) || !strings.Contains(said, tt.note) {
			t.Errorf("%s: %s: said %q, want %q", tt.path, tt.entry, said, tt.note)
		}
		secrets := make(map[string]string)
		adopted, _ := f.Servers[0].Adopt(secrets, make(map[string]string))
		for i, s := range []Server{f.Servers[0], adopted} {
			way := []string{"direct", "imported"}[i]
			s, err := s.Expand(os.LookupEnv)
			if err == nil {
				values := make(map[Reference]string)
				for name, value := range secrets {
					values[Reference{Secret: name}] = value
				}
				s, err = s.Resolve(values)
			}
			if s.Command == "" {
				s.Env = nil // which does nothing
			}
			got := fmt.Sprintf("%q %v %v", slices.Concat([]string{}, s.Args), s.Env, s.Headers)
			if strings.Contains(s.URL, "$") {
				got += " " + s.URL
			}
			if err != nil {
				got = err.Error()
			}
			if got != tt.want && (err == nil || way == "direct" && !strings.HasSuffix(got, tt.want)) {
				t.Errorf("%s: %s: %s:\n got %s\nwant %s", tt.path, tt.entry, way, got, tt.want)
			}
		}
	}
}
