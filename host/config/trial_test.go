package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The files of a trial with users: each reads, or says what it is and what to do.
func TestFilesOfUsers(t *testing.T) {
	t.Setenv("MY_KEY", "k")
	const local, remote = `{"command": "x"}`, `{"url": "https://a.example/mcp"}`
	for _, tt := range []struct {
		name, path, text string
		servers          string        // that were read
		timeout          time.Duration // of the first
		says             string        // a part of the error, of a warning, or of a note
	}{
		{"Claude Desktop", "Claude/claude_desktop_config.json", `{"mcpServers": {"a": ` + local + `}}`, "a", 0, ""},
		{"Claude Code", "/home/ada/.claude.json", `{"mcpServers": {"a": ` + remote + `}}`, "a", 0, ""},
		{"Claude Code, of projects only", "/home/ada/.claude.json", `{"projects": {"/p": {"mcpServers": {"a": ` + local + `}}}}`, "", 0,
			"the servers of the project /p are imported by `wharf import` in that folder"},
		{"a project of Claude Code", ".mcp.json", `{"mcpServers": {"a": {"type": "http", "url": "https://a.example", "alwaysLoad": true}}}`, "a", 0, "alwaysLoad: is not used by wharf"},
		{"Junie", ".junie/mcp/mcp.json", `{"mcpServers": {"a": ` + local + `}}`, "a", 0, ""},
		{"LM Studio", ".lmstudio/mcp.json", `{"mcpServers": {"a": ` + remote + `}}`, "a", 0, ""},
		{"Kiro", ".kiro/settings/mcp.json", `{"mcpServers": {"a": {"command": "x", "autoApprove": []}}}`, "a", 0, "autoApprove: is not taken"},
		{"Amazon Q, of its IDE", ".aws/amazonq/default.json", `{"useLegacyMcpJson": true, "mcpServers": {"a": {"command": "x", "timeout": 60000}}}`, "a", time.Minute, ""},
		{"Amazon Q, an agent of its CLI", ".aws/amazonq/cli-agents/my.json", `{"name": "my", "tools": ["*"], "useLegacyMcpJson": true, "mcpServers": {"a": {"command": "x", "timeout": 60000}}}`, "a", time.Minute, ""},
		{"Amazon Q", ".aws/amazonq/mcp.json", `{"mcpServers": {"a": {"command": "x", "timeout": 60000}}}`, "a", time.Minute, ""},
		{"Copilot CLI", ".copilot/mcp-config.json", `{"mcpServers": {"a": {"type": "local", "command": "x", "tools": ["*"]}}}`, "a", 0, ""},
		{"Windsurf", ".codeium/windsurf/mcp_config.json", `{"mcpServers": {"a": {"serverUrl": "https://a.example"}}}`, "a", 0, ""},
		{"Cline", "cline_mcp_settings.json", `{"mcpServers": {"a": {"command": "x", "timeout": 60}}}`, "a", time.Minute, ""},
		{"Roo", "mcp_settings.json", `{"mcpServers": {"a": {"command": "x", "timeout": 60, "alwaysAllow": ["b"]}}}`, "a", time.Minute, "alwaysAllow: is not taken"},
		{"seconds or not", "mcp.json", `{"mcpServers": {"a": {"command": "x", "timeout": 60}}}`, "a", time.Minute, "timeout: 60 is taken for seconds"},
		{"milliseconds", "mcp.json", `{"mcpServers": {"a": {"command": "x", "timeout": 60000}}}`, "a", time.Minute, ""},
		{"Cursor", ".cursor/mcp.json", `{"mcpServers": {"a": {"command": "x", "args": ["${workspaceFolder}", "${userHome}"], "envFile": ".env"}}}`, "a", 0, ""},
		{"VS Code with inputs", ".vscode/mcp.json", `{"inputs": [{"id": "k", "type": "promptString"}], "servers": {"a": {"command": "x", "env": {"K": "${input:k}"}}}}`, "a", 0, ""},
		{"VS Code, a setting of the editor", ".vscode/mcp.json", `{"servers": {"a": {"command": "x", "args": ["${config:a.b}"]}, "b": {"command": "x", "env": {"K": "${command:c.d}"}}, "c": ` + local + `}}`, "c", 0, "server b: env.K: holds ${command:c.d}, which only VS Code knows; write its value; this server is left out"},
		{"VS Code, settings", "Code/User/settings.json", `{"editor.tabSize": 2, "mcp": {"servers": {"a": ` + local + `}}}`, "a", 0, ""},
		{"Gemini CLI", ".gemini/settings.json", `{"mcpServers": {"a": {"command": "x", "env": {"K": "$MY_KEY"}}}}`, "a", 0, ""},
		{"Codex", ".codex/config.toml", "model = \"o\"\n[mcp_servers.a]\ncommand = \"x\"\ntool_timeout_sec = 60\n", "a", time.Minute, ""},
		{"Codex, a tool that is off", ".codex/config.toml", "[mcp_servers.a]\ncommand = \"x\"\n[mcp_servers.a.tools.b]\nenabled = false\n", "a", 0, ""},
		{"Codex, with plugins of its own", ".codex/config.toml", "[plugins.\"github@openai-curated\"]\nenabled = true\n[mcp_servers.a]\ncommand = \"x\"\n", "a", 0, ""},
		{"Codex, a copy with plugins", "mine.toml", "[plugins.\"github@openai-curated\"]\nenabled = true\n[mcp_servers.a]\ncommand = \"x\"\n", "a", 0, ""},
		{"Codex, without servers", ".codex/config.toml", "model = \"o\"\n[plugins.x]\nenabled = true\n", "", 0, "is a file of Codex, and has no servers: expected them under mcp_servers; it has model, plugins"},
		{"a plugin of Wharf, and the key of Codex", "mine.toml", "[plugins.x]\nfile = \"x.wasm\"\n[mcp_servers.a]\ncommand = \"x\"\n", "", 0, "mcp_servers: there is no such key; did you mean servers?"},
		{"opencode", "opencode.json", `{"mcp": {"a": {"type": "local", "command": ["x"]}}}`, "a", 0, ""},
		{"Crush", "crush.json", `{"mcp": {"a": {"type": "stdio", "command": "x"}}}`, "a", 0, ""},
		{"Zed", "zed/settings.json", `{"theme": "One", "context_servers": {"a": ` + local + `}}`, "a", 0, ""},
		{"Zed, under another name", "my.json", `{"theme": "One", "context_servers": {"a": ` + local + `}}`, "a", 0, ""},
		{"Amp", "amp/settings.json", `{"amp.mcpServers": {"a": ` + local + `}}`, "a", 0, ""},
		{"Goose", "goose/config.yaml", "GOOSE_MODEL: m\nextensions:\n  a:\n    type: stdio\n    cmd: x\n    timeout: 60\n", "a", time.Minute, ""},
		{"Continue", ".continue/config.yaml", "name: c\nmcpServers:\n  - name: a\n    command: x\n", "a", 0, ""},
		{"Continue, of a url", ".continue/config.yaml", "name: c\nmcpServers:\n  - name: a\n    type: sse\n    url: https://a.example\n    requestOptions:\n      timeout: 60\n      headers:\n        X: y\n",
			"a", 0, "config.yaml:7: server a: requestOptions.timeout: is not used by wharf"},
		{"GitHub Copilot in an IDE", "intellij/mcp.json", `{"servers": {"a": {"url": "https://a.example", "requestInit": {"headers": {"X": "y"}, "mode": "cors"}}}}`,
			"a", 0, "server a: requestInit.mode: is not used by wharf"},
		{"Continue, of its hub", ".continue/config.yaml", "name: c\nmcpServers:\n  - uses: a/b\n  - name: a\n    command: x\n", "a", 0, `server 1: uses: "a/b" is a block of Continue's hub`},
		{"mcporter, an address", "mcporter.json", `{"mcpServers": {"a": {"baseUrl": "https://a.example"}}}`, "a", 0, ""},
		{"mcporter, a command line", "mcporter.json", `{"mcpServers": {"a": {"command": "node x.js"}}}`, "a", 0, ""},
		{"a name with brackets", "mcp.json", `{"mcpServers": {"GitHub (official)": ` + remote + `}}`, "GitHub-official", 0, "is called GitHub-official here"},
		{"YAML of something else", "compose.yaml", "services:\n  web: {}\n", "", 0, "has no servers: it has services; servers are found under mcpServers"},
		{"Zed without servers", "zed/settings.json", `{"theme": "One"}`, "", 0, "is a file of Zed, and has no servers: expected them under context_servers; it has theme"},
		{"mcporter, with imports", "mcporter.json", `{"mcpServers": {"a": ` + local + `}, "imports": ["cursor"]}`, "a", 0, "imports: mcporter adds servers"},
		{"a variable without braces", "my.json", `{"mcpServers": {"a": {"command": "x", "env": {"K": "$MY_KEY"}}}}`, "a", 0, "env.K: is the text $MY_KEY, and no variable; write ${MY_KEY} for that"},
		{"a header without braces", ".cursor/mcp.json", `{"mcpServers": {"a": {"url": "https://a.example", "headers": {"K": "Bearer $MY_KEY"}}}}`, "a", 0, "headers.K: is the text $MY_KEY, and no variable"},
		{"a price", "my.json", `{"mcpServers": {"a": {"command": "x", "env": {"K": "$5", "L": "a$B", "M": "$(x)"}}}}`, "a", 0, ""},
		{"TOML with a list of servers", "a.toml", "[[mcp.servers]]\nname = \"a\"\ncommand = \"x\"\n", "", 0, "has no servers: it has mcp; servers are found under mcpServers"},
		{"Claude Code, its settings", ".claude/settings.json", `{"permissions": {}}`, "", 0, "is a file of Claude Code, which keeps servers in ~/.claude.json"},
		{"a list of headers", "my.json", `{"mcpServers": {"a": {"url": "https://a.example", "headers": ["K: v"]}}}`, "", 0, `expected a table of texts, not a list; write { "NAME": "…" }`},
		{"a key in small letters", "my.json", `{"mcpservers": {}}`, "", 0, "has no servers: it has mcpservers (did you mean mcpServers?)"},
		{"a list as the command", "wharf.toml", "[servers.a]\ncommand = [\"node\", \"x.js\"]\n", "", 0, `wharf.toml:2: server a: command: expected a text, not a list; write command = "PROGRAM", and args = ["…"]`},
		{"a path with backslashes", "wharf.toml", "[servers.a]\ncommand = \"C:\\Users\\x.exe\"\n", "", 0, `; write \ twice, or the text in single quotes`},
		{"a text without quotes", "wharf.toml", "[servers.a]\ncommand = node x.js\n", "", 0, "; write a text in quotes"},
		{"a text in curly quotes", "wharf.toml", "[servers.a]\ncommand = “node”\n", "", 0, `; write straight quotes, ", in place of curly ones`},
		{"JSON under another name", "wharf.toml", `{"mcpServers": {}}`, "", 0, "; this looks like JSON: name the file .json"},
		{"JetBrains, since 2025.3", "options/llm.mcpServers.xml", `<application><component name="McpApplicationServerCommands"><commands><McpServerConfigurationProperties><option name="name" value="a" /></McpServerConfigurationProperties></commands></component></application>`,
			"", 0, "has no servers: since 2025.3 the AI Assistant of JetBrains keeps them in .ai/mcp/mcp.json"},
		{"JetBrains, broken off", "options/llm.mcpServers.xml", "<application>\n<component>", "", 0, "llm.mcpServers.xml:2: is not XML: unexpected EOF"},
		{"JetBrains, nested", "options/llm.mcpServers.xml", strings.Repeat("<a>", 200) + strings.Repeat("</a>", 200), "", 0, "is not read: it nests too deeply"},
		{"JetBrains, a mistake", "options/llm.mcpServers.xml", "<application>\n<McpServerCommand>\n<option name=\"enabled\" value=\"maybe\" />\n<option name=\"name\" value=\"a\" /><option name=\"programPath\" value=\"x\" /></McpServerCommand></application>",
			"", 0, "llm.mcpServers.xml:3: server a: enabled: expected true or false, not a text"},
		{"JetBrains, an option of that name", "options/llm.mcpServers.xml", `<application><option name="McpServerCommand"><option name="name" value="a" /><option name="programPath" value="x" /></option></application>`, "", 0, "has no servers"},
		{"XML", "a.xml", `<servers/>`, "", 0, "; this looks like XML or HTML"},
		{"a bundle", "manifest.json", `{"manifest_version": "0.3", "name": "a", "server": {"type": "node"}}`, "", 0, "is the manifest of a bundle (.mcpb)"},
		{"a registry's", "server.json", `{"name": "io.example/a", "packages": []}`, "", 0, "; `wharf add NAME` adds one that a registry has"},
		{"TOML of something else", "Cargo.toml", "[package]\nname = \"x\"\n", "", 0, "package: there is no such key; there are servers, plugins"},
	} {
		file, err := Parse(tt.path, []byte(tt.text))
		if err != nil {
			if tt.servers != "" || tt.says == "" || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.says)
			}
			continue
		}
		said := strings.Join(append(file.Warnings, file.Notes...), "\n")
		if got := listed(file.Servers); got != tt.servers || tt.says == "" && said != "" || !strings.Contains(said, tt.says) {
			t.Errorf("%s: servers %q, said %q; want %q, %q", tt.name, got, said, tt.servers, tt.says)
		}
		if tt.servers != "" && file.Servers[0].Timeout != tt.timeout {
			t.Errorf("%s: a timeout of %v, want %v", tt.name, file.Servers[0].Timeout, tt.timeout)
		}
	}
}

// The plugin of GitHub Copilot for other IDEs has headers where the fetch of JavaScript has them.
func TestHeadersInRequestInit(t *testing.T) {
	file, err := Parse("intellij/mcp.json", []byte(`{"servers": {"a": {"url": "https://a.example", "requestInit": {"headers": {"X": "y"}}}, "b": {"url": "https://b.example", "headers": {"X": "z"}, "requestInit": {}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := file.Servers[0].Headers["X"], file.Servers[1].Headers["X"]; a != "y" || b != "z" {
		t.Errorf("the headers are %q and %q", a, b)
	}
}

// TestErrorsOfEnvFile have the whole path, and the key that the file has.
func TestErrorsOfEnvFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "my.json")
	write(t, path, `{"mcpServers": {"a": {"command": "x", "envFile": "k.env"}, "b": {"command": "x", "env_file": "k.env"}}}`)
	f, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	for i, key := range []string{"envFile", "env_file"} {
		_, err := os.Open("k.env")
		want := key + ": " + filepath.Join(filepath.Dir(path), "k.env") + ": "
		if got := f.Servers[i].EnvError(err); !strings.HasPrefix(got.Error(), want) || !errors.Is(got, fs.ErrNotExist) {
			t.Errorf("%v, want %s", got, want)
		}
	}
}
