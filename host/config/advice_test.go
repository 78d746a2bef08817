package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// What is to be written into an entry is in the notation of its file, by the keys of its client. An entry of a
// project is not written anew in the user's own file, where it would be no whole one.
func TestAdviceForAnEntry(t *testing.T) {
	const codex, goose, opencode = ".codex/config.toml", "goose/config.yaml", "opencode.json"
	for _, tt := range [][5]string{
		{"wharf.toml", "[servers.x]\ncommand = 'c'", `write in your configuration, in [servers.x] of wharf.toml: env = { A = "${A}", B = "${B}" }`, `timeout = "2m"`, `start_timeout = "2m"`},
		{"wharf.toml", "[servers.x]\ncommand = 'c'\nenv = { C = '1' }", `write in your configuration, in env of [servers.x] of wharf.toml: A = "${A}", B = "${B}"`, `timeout = "2m"`, `start_timeout = "2m"`},
		{codex, "[mcp_servers.x]\ncommand = 'c'", "name it in the list env_vars of its entry in .codex/config.toml", "tool_timeout_sec = 120", "startup_timeout_sec = 120"},
		{codex, "[mcp_servers.x]\ncommand = 'c'\nstartup_timeout_ms = 5", "name it in the list env_vars of its entry in .codex/config.toml", "tool_timeout_sec = 120", "startup_timeout_ms = 120000"},
		{goose, "extensions:\n  x: {type: stdio, cmd: c}\n", "name it in the list env_keys of its entry in goose/config.yaml", "timeout: 120", ""},
		{"cline_mcp_settings.json", `{"mcpServers": {"x": {"command": "c"}}}`, `write into its entry in cline_mcp_settings.json: "env": { "A": "${env:A}", "B": "${env:B}" }`, `"timeout": 120`, ""},
		{".gemini/settings.json", `{"mcpServers": {"x": {"command": "c"}}}`, `write into its entry in .gemini/settings.json: "env": { "A": "${A}", "B": "${B}" }`, `"timeout": 120000`, ""},
		{"crush.json", `{"mcp": {"x": {"type": "stdio", "command": "c"}}}`, `write into its entry in crush.json: "env": { "A": "${A}", "B": "${B}" }`, "", `"timeout": 120`},
		{opencode, `{"mcp": {"x": {"type": "local", "command": ["c"], "environment": {"C": "1"}}}}`, `write into environment of its entry in opencode.json: "A": "{env:A}", "B": "{env:B}"`, `"timeout": 120000`, ""},
		{opencode, `{"mcp": {"x": {"type": "local", "command": ["c"], "timeout": {"request": 5}}}}`, `write into its entry in opencode.json: "environment": { "A": "{env:A}", "B": "{env:B}" }`, "", ""},
		{".continue/config.yaml", "mcpServers:\n  - {name: x, command: c}\n", `write into its entry in .continue/config.yaml: env: { A: "${{ secrets.A }}", B: "${{ secrets.B }}" }`, "", ""},
		{"zed/settings.json", `{"context_servers": {"x": {"command": "c"}}}`, "write it into env of its entry in zed/settings.json, with its value: that file has no names of variables", `"timeout": 120`, ""},
		{"a.json", `{"mcpServers": {"x": {"command": "c"}}}`, `write into its entry in a.json: "env": { "A": "${A}", "B": "${B}" }`, "", ""},
		{"a.json", `{"mcpServers": {"x": {"command": "c", "timeout": 5, "startTimeout": 7}}}`, `write into its entry in a.json: "env": { "A": "${A}", "B": "${B}" }`, `"timeout": 120`, `"startTimeout": 120000`},
	} {
		f, err := Parse(tt[0], []byte(tt[1]))
		if err != nil {
			t.Fatalf("%s: %v", tt[0], err)
		}
		if again, _ := Parse(tt[0], []byte(tt[1])); !reflect.DeepEqual(again.Servers, f.Servers) {
			t.Errorf("%s: read again, it is another", tt[0]) // and would be started anew
		}
		s := f.Servers[0]
		if got := s.PassOn([]string{"A", "B"}, "[servers.x]"); got != "if it may have that, "+tt[2] {
			t.Errorf("%s: %s", tt[0], got)
		}
		if request, start := s.Longer("timeout", 0), s.Longer("start_timeout", -1); request != tt[3] || start != tt[4] {
			t.Errorf("%s: %q, %q", tt[0], request, start)
		}
		if whole := s.Longer("max_timeout", 0); (whole == "") != (tt[0] != "wharf.toml") {
			t.Errorf("%s: %q", tt[0], whole)
		}
		s.bind(Project{Folder: "/p", File: tt[0]})
		released, err := s.Release(nil, nil)
		if got := released.PassOn([]string{"A"}, "[servers.x]"); err != nil || !strings.HasPrefix(got, "the server came with a project") || strings.Contains(got, "=") || !strings.HasSuffix(got, tt[0]) {
			t.Errorf("%s, of a project: %s, %v", tt[0], got, err)
		}
	}
}

// What is to be written is longer than what the entry, its file or the command line already allows.
func TestLongerThanItIs(t *testing.T) {
	const codex = ".codex/config.toml"
	for _, tt := range []struct {
		file, text, key string
		now             time.Duration
		want            string
	}{
		{"wharf.toml", "[servers.x]\ncommand = 'c'\ntimeout = '90s'", "timeout", 0, `timeout = "2m"`},
		{"wharf.toml", "[servers.x]\ncommand = 'c'\ntimeout = '2m'", "timeout", 0, `timeout = "4m"`},
		{"wharf.toml", "[servers.x]\ncommand = 'c'\ntimeout = '0'", "timeout", 0, `timeout = "2m"`},
		{"wharf.toml", "[servers.x]\ncommand = 'c'\nstart_timeout = '5m'", "start_timeout", time.Second, `start_timeout = "6m"`},
		{"wharf.toml", "[servers.x]\ncommand = 'c'\nstart_timeout = '5m'", "timeout", 0, `timeout = "2m"`},
		{"wharf.toml", "[servers.x]\ncommand = 'c'\ntimeout = '1s'", "timeout", 3 * time.Minute, `timeout = "4m"`},
		{"wharf.toml", "[servers.x]\ncommand = 'c'\nmax_timeout = '4h'", "max_timeout", 0, `max_timeout = "6h"`},
		{"wharf.toml", "max_timeout = '5h'\n[servers.x]\ncommand = 'c'", "max_timeout", 5 * time.Hour, `max_timeout = "6h"`},
		{codex, "[mcp_servers.x]\ncommand = 'c'\ntool_timeout_sec = 300", "timeout", 0, "tool_timeout_sec = 360"},
		{codex, "[mcp_servers.x]\ncommand = 'c'\nstartup_timeout_ms = 130000", "start_timeout", 0, "startup_timeout_ms = 240000"},
		{"goose/config.yaml", "GOOSE_DEFAULT_EXTENSION_TIMEOUT: 300\nextensions:\n  x: {type: stdio, cmd: c}\n", "timeout", 0, "timeout: 360"},
		{"a.json", `{"mcpServers": {"x": {"command": "c", "timeout": 900}}}`, "timeout", 0, `"timeout": 960`},
		{"a.json", `{"mcpServers": {"x": {"command": "c", "timeout": 999}}}`, "timeout", 0, `"timeout": 1080000`},
		{"a.json", `{"mcpServers": {"x": {"command": "c", "timeout": 1500}}}`, "timeout", 0, `"timeout": 120000`},
		{"a.json", `{"mcpServers": {"x": {"command": "c", "timeout": 1200000}}}`, "timeout", 0, `"timeout": 1320000`},
	} {
		f, err := Parse(tt.file, []byte(tt.text))
		if err != nil {
			t.Fatal(tt.text, err)
		}
		if got := f.Servers[0].Longer(tt.key, tt.now); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.text, got, tt.want)
		}
	}
}
