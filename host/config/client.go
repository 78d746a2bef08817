package config

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// client describes a program whose files Wharf reads as they are: where the files are, under
// which key they keep their servers, and what their values mean where clients differ. The names
// of their keys are in [foreignKeys], since most clients agree on them.
type client struct {
	id, name string // for a command line, and for people

	// files are the paths of the user's own files, and of those of an administrator. "~" is the
	// home folder, "{config}" the system's folder for configuration, "{xdg}" that of the XDG Base
	// Directory Specification on every system, and "$NAME" the value of a variable. A name before
	// a colon limits the path to one system. "*" is any name, or what is before the end of one.
	files []string

	// ends are the ends of the paths of its files, including those in projects. "*" is as in files.
	ends []string

	// roots are the paths of the keys that hold the table of servers; nil is mcpServers.
	roots [][]string

	unit   time.Duration // of a number in timeout; 0 is not known: seconds below 1000, else milliseconds
	waits  [][]string    // the paths of keys that hold a timeout for the servers which have none of their own
	syntax syntax        // how its values hold variables; nil is by ${NAME}
	sse    bool          // its url is of the transport HTTP+SSE, unless it has a type

	prefixed bool              // by ${env:NAME}, and ${NAME} is a text to it
	keys     map[string]string // what it calls keys of Wharf's, where that is neither Wharf's name nor the file's own

	defaults bool   // its documentation has ${NAME:-default}
	unset    string // what a variable is to it that is not set, for people; "" is a mistake
	since    string // what its later releases do with one, where that differs, for people
}

// What a variable is that is not set.
const (
	unsetText  = "the text that is written there"
	unsetEmpty = "an empty text"
)

// The keys under which servers are kept.
var (
	rootMCPServers = []string{"mcpServers"}
	rootServers    = []string{"servers"}
	rootNested     = []string{"mcp", "servers"}
	rootFlat       = []string{"mcp"}
)

// clients is the table of all known clients. If the path of a file matches no client, the first
// client counts whose root the file has. The sources of each entry are in
// testdata/clients/README.md.
var clients = []client{
	{
		id: "claude-desktop", name: "Claude Desktop",
		files: []string{"{config}/Claude/claude_desktop_config.json"},
		ends:  []string{"claude_desktop_config.json"},

		syntax: noSyntax,
	},
	{
		id: "claude-code", name: "Claude Code",
		files: []string{
			"~/.claude.json", "$CLAUDE_CONFIG_DIR/.claude.json", "linux:/etc/claude-code/managed-mcp.json",
			"darwin:/Library/Application Support/ClaudeCode/managed-mcp.json", "windows:C:/Program Files/ClaudeCode/managed-mcp.json",
		},
		ends: []string{".claude.json", ".mcp.json", ".claude/mcp.json", "managed-mcp.json"},

		defaults: true,
	},
	{
		id: "cursor", name: "Cursor",
		files: []string{"~/.cursor/mcp.json"},
		ends:  []string{".cursor/mcp.json"},

		prefixed: true,
	},
	{
		id: "vscode", name: "VS Code",
		files: []string{
			"{config}/Code/User/mcp.json", "{config}/Code - Insiders/User/mcp.json", "{config}/VSCodium/User/mcp.json",
			"{config}/Code/User/settings.json", "{config}/Code - Insiders/User/settings.json", "{config}/VSCodium/User/settings.json",
		},
		ends:  []string{".vscode/mcp.json", "User/mcp.json", ".vscode/settings.json", "User/settings.json"},
		roots: [][]string{rootServers, rootMCPServers, rootNested, {"mcp.servers"}},

		syntax: codeSyntax, prefixed: true, unset: unsetEmpty,
	},
	{
		id: "windsurf", name: "Windsurf",
		files: []string{"~/.codeium/windsurf/mcp_config.json"},
		ends:  []string{"windsurf/mcp_config.json"},
		keys:  map[string]string{"url": "serverUrl"},

		syntax: windsurfSyntax, prefixed: true,
	},
	{
		id: "cline", name: "Cline",
		files: []string{
			"{config}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
			"~/.cline/data/settings/cline_mcp_settings.json",
		},
		ends: []string{"cline_mcp_settings.json"},
		unit: time.Second, prefixed: true,
	},
	{
		id: "roo", name: "Roo Code",
		files: []string{
			"{config}/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
			"{config}/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/cline_mcp_settings.json",
		},
		ends: []string{"mcp_settings.json", ".roo/mcp.json", "rooveterinaryinc.roo-cline/settings/cline_mcp_settings.json"},
		unit: time.Second, prefixed: true, unset: unsetText,
	},
	{
		id: "gemini", name: "Gemini CLI",
		files:  []string{"~/.gemini/settings.json"},
		ends:   []string{".gemini/settings.json"},
		unit:   time.Millisecond,
		syntax: geminiSyntax, sse: true, unset: unsetText, since: ", whose later releases leave it empty in env and headers",
	},
	{
		id: "qwen", name: "Qwen Code", // which grew out of Gemini CLI
		files:  []string{"~/.qwen/settings.json"},
		ends:   []string{".qwen/settings.json", ".qwen/settings.local.json"},
		unit:   time.Millisecond,
		syntax: geminiSyntax, sse: true, unset: unsetText,
		keys: map[string]string{"start_timeout": "discoveryTimeoutMs"},
	},
	{
		id: "copilot", name: "GitHub Copilot CLI",
		files: []string{"~/.copilot/mcp-config.json", "$COPILOT_HOME/mcp-config.json"},
		ends:  []string{"mcp-config.json", ".github/mcp.json"},
		unit:  time.Millisecond,
	},
	{
		id: "zed", name: "Zed",
		files:  []string{"linux:{xdg}/zed/settings.json", "darwin:~/.config/zed/settings.json", "windows:{config}/Zed/settings.json"},
		ends:   []string{"zed/settings.json", "Zed/settings.json", ".zed/settings.json"},
		roots:  [][]string{{"context_servers"}},
		unit:   time.Second,
		waits:  [][]string{{"context_server_timeout"}},
		syntax: noSyntax,
	},
	{
		id: "codex", name: "Codex",
		files:  []string{"~/.codex/config.toml", "$CODEX_HOME/config.toml"},
		ends:   []string{".codex/config.toml"},
		roots:  [][]string{{"mcp_servers"}},
		unit:   time.Second,
		syntax: noSyntax,
		keys:   map[string]string{"timeout": "tool_timeout_sec", "start_timeout": "startup_timeout_sec"},
	},
	{
		id: "opencode", name: "opencode",
		files: []string{
			"{xdg}/opencode/opencode.json", "{xdg}/opencode/opencode.jsonc", "{xdg}/opencode/config.json", "$OPENCODE_CONFIG",
			"~/.opencode/opencode.json", "~/.opencode/opencode.jsonc",
			"$OPENCODE_CONFIG_DIR/opencode.json", "$OPENCODE_CONFIG_DIR/opencode.jsonc",
		},
		ends:   []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc", "opencode/config.json"},
		roots:  [][]string{rootNested, rootFlat},
		unit:   time.Millisecond,
		waits:  [][]string{{"mcp", "timeout"}, {"experimental", "mcp_timeout"}},
		syntax: braceSyntax, unset: unsetEmpty,
		keys: map[string]string{"env": "environment"},
	},
	{
		id: "crush", name: "Crush",
		files: []string{
			"linux:{xdg}/crush/crush.json", "darwin:{xdg}/crush/crush.json", "windows:~/AppData/Local/crush/crush.json",
			"$CRUSH_GLOBAL_CONFIG/crush.json",
		},
		ends:   []string{"crush.json", ".crush.json"},
		roots:  [][]string{rootFlat},
		unit:   time.Second,
		syntax: crushSyntax, defaults: true, unset: unsetEmpty,
		keys: map[string]string{"start_timeout": "timeout"},
	},
	{
		id: "amp", name: "Amp",
		files: []string{"~/.config/amp/settings.json", "~/.config/amp/settings.jsonc"},
		ends:  []string{"amp/settings.json", "amp/settings.jsonc", ".amp/settings.json"},
		roots: [][]string{{"amp.mcpServers"}},
	},
	{
		id: "jetbrains", name: "JetBrains",
		files: []string{"~/.junie/mcp/mcp.json", "~/.ai/mcp/mcp.json", "{config}/JetBrains/*/options/llm.mcpServers.xml"},
		ends:  []string{".junie/mcp/mcp.json", ".air/mcp.json", ".ai/mcp/mcp.json", "options/llm.mcpServers.xml"},
	},
	{
		id: "goose", name: "Goose",
		files: []string{
			"linux:{xdg}/goose/config.yaml", "darwin:{xdg}/goose/config.yaml", "windows:{config}/Block/goose/config/config.yaml",
			"$GOOSE_PATH_ROOT/config/config.yaml",
		},
		ends:   []string{"goose/config.yaml", "goose/config/config.yaml"},
		roots:  [][]string{{"extensions"}},
		unit:   time.Second,
		waits:  [][]string{{"GOOSE_DEFAULT_EXTENSION_TIMEOUT"}},
		syntax: noSyntax, // but see Server.translate
		keys:   map[string]string{"command": "cmd", "url": "uri", "env": "envs"},
	},
	{
		id: "continue", name: "Continue",
		files: []string{
			"~/.continue/config.yaml", "~/.continue/mcpServers/*.yaml", "~/.continue/mcpServers/*.json", // blocks
		},
		ends:   []string{".continue/config.yaml", ".continue/mcpServers/*.yaml", ".continue/mcpServers/*.json"},
		syntax: continueSyntax,
	},
	{
		id: "librechat", name: "LibreChat", // its file is beside the program, and so anywhere
		ends:   []string{"librechat.yaml"},
		unit:   time.Millisecond,
		syntax: librechatSyntax, sse: true, unset: unsetText,
	},
	{
		id: "mcporter", name: "mcporter",
		files:  []string{"~/.mcporter/mcporter.json", "~/.mcporter/mcporter.jsonc"},
		ends:   []string{"mcporter.json", "mcporter.jsonc"},
		syntax: mcporterSyntax, defaults: true,
	},
	{
		id: "kiro", name: "Kiro",
		files: []string{"~/.kiro/settings/mcp.json", "~/.kiro/agents/*.json"},
		ends:  []string{".kiro/settings/mcp.json", ".kiro/agents/*.json"},
		roots: [][]string{rootMCPServers, {"powers", "mcpServers"}}, // the second has those of its powers
	},
	{
		id: "lmstudio", name: "LM Studio",
		files: []string{"~/.lmstudio/mcp.json"},
		ends:  []string{".lmstudio/mcp.json"},

		prefixed: true, // as in Cursor, whose notation it follows
	},
	{
		id: "amazonq", name: "Amazon Q",
		files: []string{
			"~/.aws/amazonq/default.json", "~/.aws/amazonq/mcp.json", // the IDE writes the first, and reads both
			"~/.aws/amazonq/agents/default.json", // of later releases of the IDE
			"~/.aws/amazonq/cli-agents/*.json",   // agents of the CLI
		},
		ends: []string{
			".amazonq/default.json", "amazonq/default.json", ".amazonq/mcp.json", "amazonq/mcp.json",
			".amazonq/agents/default.json", "amazonq/agents/default.json", ".amazonq/cli-agents/*.json", "amazonq/cli-agents/*.json",
		},
		unit: time.Millisecond, prefixed: true,
	},
	{
		id: "mcphub", name: "mcphub.nvim",
		files: []string{"~/.config/mcphub/servers.json"},
		ends:  []string{"mcphub/servers.json", ".mcphub/servers.json"},
		roots: [][]string{rootMCPServers, rootServers},

		syntax: hubSyntax,
	},
}

// unknownClient stands for the client of a file whose path is not in the table.
var unknownClient = client{name: "another client"}

// userFiles returns the paths of a client's files that belong to no project. A nil client has none.
func (c *client) userFiles() []string {
	if c == nil {
		return nil
	}
	return c.files
}

func (c *client) rootPaths() [][]string {
	if c.roots == nil {
		return [][]string{rootMCPServers}
	}
	return c.roots
}

// clientOf returns the client that keeps its servers in a file at that path, or nil. If the ends of
// several clients fit the path, it is the client with the longest end.
func clientOf(path string) (found *client) {
	path = "/" + filepath.ToSlash(path)
	longest := 0
	for i := range clients {
		for _, end := range clients[i].ends {
			if _, ok := cutEnd(path, end); ok && len(end) > longest {
				found, longest = &clients[i], len(end)
			}
		}
	}
	return found
}

// cutEnd returns the folder above the end of a path with slashes. end is one of [client].ends.
func cutEnd(path, end string) (folder string, ok bool) {
	before, after, several := strings.Cut(end, "*")
	if !several {
		return strings.CutSuffix(path, "/"+end)
	}
	path, ok = strings.CutSuffix(path, after)
	at := strings.LastIndex(path, "/"+before)
	if !ok || at < 0 || strings.Contains(path[at+1+len(before):], "/") {
		return "", false
	}
	return path[:at], true
}

// IsNamed reports whether a file is a configuration by its name: Wharf's own, or that of another
// client. For some clients the folder must also match.
func IsNamed(path string) bool {
	return filepath.Base(path) == "wharf.toml" || filepath.Base(path) == "mcp.json" || clientOf(path) != nil
}

// byID returns the client of the table with that id.
func byID(id string) *client {
	return &clients[slices.IndexFunc(clients, func(c client) bool { return c.id == id })]
}

// rootsText lists the keys under which servers are looked for, each with the client that uses it.
func rootsText() string {
	var parts []string
	names := make(map[string][]string)
	for i := range clients {
		for _, root := range clients[i].rootPaths() {
			key := strings.Join(root, ".")
			if names[key] == nil {
				parts = append(parts, key)
			}
			if !slices.Contains(names[key], clients[i].name) {
				names[key] = append(names[key], clients[i].name)
			}
		}
	}
	for i, key := range parts {
		of := names[key]
		if len(of) > 2 {
			of = append(slices.Clone(of[:2]), "…")
		}
		parts[i] = key + " (" + strings.Join(of, ", ") + ")"
	}
	return strings.Join(parts, ", ")
}
