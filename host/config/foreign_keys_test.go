package config

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// What is wrong in the file of a client is told by the keys of that client, and what to write there is in its format.
func TestMistakesInForeignFiles(t *testing.T) {
	const cline, roo, gemini, opencode, goose, codex = "cline_mcp_settings.json", ".roo/mcp.json", ".gemini/settings.json", "opencode.json", "goose/config.yaml", ".codex/config.toml"
	files := map[string]string{
		cline: `{"mcpServers": {"x": {%s}}}`, roo: `{"mcpServers": {"x": {%s}}}`, gemini: `{"mcpServers": {"x": {%s}}}`, opencode: `{"mcp": {"x": {%s}}}`,
		goose: "extensions:\n  x: {%s}\n", codex: "[mcp_servers.x]\n%s\n", "a.json": `{"mcpServers": {"x": {%s}}}`, ".mcp.json": `{"mcpServers": {"x": {%s}}}`,
	}
	for _, tt := range [][3]string{
		{cline, `"command": "c", "timeout": "60"`, `timeout: expected a number of seconds, not the text "60"; write "timeout": 60`},
		{roo, `"command": "c", "timeout": "60"`, `timeout: expected a number of seconds, not the text "60"; write "timeout": 60`},
		{gemini, `"command": "c", "timeout": "5000"`, `timeout: expected a number of milliseconds, not the text "5000"; write "timeout": 5000`},
		{opencode, `"type": "local", "command": ["c"], "timeout": {"request": "5"}`, `timeout.request: expected a number of milliseconds, not the text "5"; write "request": 5`},
		{goose, `type: stdio, cmd: c, timeout: "5"`, `timeout: expected a number of seconds, not the text "5"; write timeout: 5`},
		{codex, "command = \"c\"\ntool_timeout_sec = \"5\"", `tool_timeout_sec: expected a number of seconds, not the text "5"; write tool_timeout_sec = 5`},
		{codex, "command = \"c\"\nstartup_timeout_ms = \"5\"", `startup_timeout_ms: expected a number of milliseconds, not the text "5"; write startup_timeout_ms = 5`},
		{"a.json", `"command": "c", "timeout": "5"`, `timeout: expected a number, not the text "5"; write "timeout": 5`},
		{"a.json", `"command": "c", "timeout": "soon"`, `timeout: expected a number, not the text "soon"`},
		{gemini, `"command": "c", "timeout": true`, `timeout: expected a number of milliseconds, not true or false`},
		{gemini, `"command": "c", "timeout": "5s"`, ``},
		{gemini, `"command": "c", "timeout": ""`, ``},

		{goose, `type: stdio, args: [a]`, `cmd: is missing; transport stdio runs a process: write cmd: "…"`},
		{goose, `type: streamable_http`, `uri: is missing; transport http connects to a url: write uri: "https://…"`},
		{opencode, `"type": "local", "command": []`, `command: is missing; transport stdio runs a process: write "command": ["…"]`},
		{opencode, `"type": "local", "command": ["c", "a"], "environment": {"=": "x"}`, `environment: "=" is no name of a variable`},
		{gemini, `"httpUrl": "https://u:p@a.example"`, `httpUrl: holds a user or a password; write an entry of your own`},
		{gemini, `"command": "c", "env": {"K": []}`, `env.K: expected a text, not a list; write it in quotes; this`},
		{gemini, `"command": "c", "auth": {"provider": ""}`, `auth: does nothing without a url; a process gets credentials by auth.variables`},

		// These are found when the variables are replaced.
		{opencode, `"type": "local", "command": ["c", "{env:NO SUCH}"]`, `command[1]: ${env:NO SUCH} names no variable`},
		{opencode, `"type": "local", "command": ["{env:NO_SUCH_1}"]`, `command[0]: is empty with its variables filled in; set them`},
		{opencode, `"type": "remote", "url": "{env:NO_SUCH_1}"`, `url: is empty with its variables filled in; set them`},
		{opencode, `"type": "local", "command": ["c"], "environment": {"K": "{env:NO SUCH}"}`, `environment.K: ${env:NO SUCH} names no variable`},
		{".mcp.json", `"command": "c", "cwd": "${NO_SUCH_1}"`, `cwd: the variable`},
		{".mcp.json", `"serverUrl": "${NO_SUCH_1}"`, `serverUrl: the variable`},
		{".mcp.json", `"url": "wss://a.example"`, `url: is for a transport that speaks WebSocket, and`},
	} {
		path, text, want := tt[0], fmt.Sprintf(files[tt[0]], tt[1]), tt[2]
		f, err := Parse(path, []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		said := strings.Join(f.Warnings, "\n")
		if len(f.Servers) > 0 {
			_, err := f.Servers[0].Expand(unset)
			said += fmt.Sprint(err)
		}
		if want == "" && said != "<nil>" || !strings.Contains(said, ": server x: "+want) && want != "" {
			t.Errorf("%s: %s\n got %s\nwant %s", path, text, said, want)
		}
	}
}

// TestHeadersHelper checks that a helper is told its server as the file has it, and that a mistake in the url is one.
func TestHeadersHelper(t *testing.T) {
	f, err := Parse(".claude.json", []byte(`{"mcpServers": {
		"a b": {"type": "http", "url": "https://x.example/$$/${UNSET_HERE}?a=$TOKEN", "headersHelper": "h"},
		"local": {"command": "c", "headersHelper": "h"}}}`))
	if err != nil || len(f.Servers) != 1 || !strings.Contains(f.LeftOut["local"].Error(), "does nothing without a url") {
		t.Fatalf("%v, %v, %v", f.Servers, f.LeftOut, err)
	}
	s := f.Servers[0]
	if _, err := s.expand(unset); err == nil || strings.Count(err.Error(), "UNSET_HERE is not set") != 1 {
		t.Error(err)
	}
	whole, err := s.expand(func(string) (string, bool) { return "v", true })
	want := map[string]string{"CLAUDE_CODE_MCP_SERVER_NAME": "a b", "CLAUDE_CODE_MCP_SERVER_URL": "https://x.example/$$/v?a=$TOKEN"}
	if err != nil || s.Name != "a-b" || !maps.Equal(whole.Auth.Env, want) {
		t.Error(s.Name, whole.Auth.Env, err)
	}
}

// TestSharedTimeouts checks that a timeout for all servers counts where an entry has none, and that a mistake in it leaves out no
// server.
func TestSharedTimeouts(t *testing.T) {
	const zed, goose, opencode = "zed/settings.json", "goose/config.yaml", "opencode.json"
	for _, tt := range [][4]string{
		{zed, `{"context_server_timeout": 300, "context_servers": {"a": {"command": "c"}, "b": {"command": "c", "timeout": 5}, "d": {"command": "c", "timeout": 0}}}`, "a 5m0s 0s, b 5s 0s, d -1ns 0s", ""},
		{zed, `{"context_server_timeout": "5 m", "context_servers": {"a": {"command": "c"}}}`, "a 0s 0s", `zed/settings.json:1: context_server_timeout: expected a number of seconds, not the text "5 m"; it is left out`},
		{goose, "GOOSE_DEFAULT_EXTENSION_TIMEOUT: 900\nextensions:\n  a: {type: stdio, cmd: c}\n  b: {type: stdio, cmd: c, timeout: 5}\n", "a 15m0s 0s, b 5s 0s", ""},
		{opencode, `{"mcp": {"timeout": {"startup": 90000, "request": 300000}, "servers": {"a": {"type": "local", "command": ["c"], "timeout": {"request": 5000}}}}}`, "a 5s 1m30s", ""},
		{opencode, `{"mcp": {"timeout": 300000, "servers": {"a": {"type": "local", "command": ["c"]}}}}`, "a 5m0s 0s", ""},
		{opencode, `{"mcp": {"timeout": {"type": "local", "command": ["c"]}}, "experimental": {"mcp_timeout": 5000}}`, "timeout 5s 0s", ""},
		{opencode, `{"mcp": {"a": {"type": "local", "command": ["c"]}}, "experimental": true}`, "a 0s 0s", ""},
		{opencode, `{"mcp": {"timeout": {"request": []}, "servers": {"a": {"type": "local", "command": ["c"]}}}}`, "a 0s 0s", "opencode.json:1: timeout.request: expected a number of milliseconds, not a list; it is left out"},
		{"a.json", `{"context_server_timeout": 300, "mcpServers": {"a": {"command": "c"}}}`, "a 0s 0s", ""},
	} {
		f, err := Parse(tt[0], []byte(tt[1]))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range f.Servers {
			got = append(got, fmt.Sprintf("%s %v %v", s.Name, s.Timeout, s.StartTimeout))
		}
		if strings.Join(got, ", ") != tt[2] || strings.Join(f.Warnings, "\n") != tt[3] {
			t.Errorf("%s: %q, %q", tt[1], got, f.Warnings)
		}
	}
}
