package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Each client's file is found where the client has it, and read as its own.
func TestFindClients(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("AppData", filepath.Join(home, "AppData", "Roaming"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "COPILOT_HOME", "CODEX_HOME", "CRUSH_GLOBAL_CONFIG", "GOOSE_PATH_ROOT"} {
		t.Setenv(name, filepath.Join(home, name))
	}
	t.Setenv("OPENCODE_CONFIG", filepath.Join(home, "mine", "opencode.json"))
	if paths := ClientFiles("amazonq"); len(paths) != 4 || !strings.HasSuffix(paths[3], "*.json") {
		t.Errorf("looked for %q", paths)
	}
	want := 0
	for _, c := range clients {
		for _, file := range c.files {
			path, ok := expandPlace(file, runtime.GOOS)
			if !ok || !strings.HasPrefix(path, home) { // an administrator's
				continue
			}
			path = strings.ReplaceAll(path, "*", "my")
			want++
			write(t, path, sample(c, path))
		}
	}
	cwd := filepath.Join(home, "shop", "src")
	all, err := FindClients(cwd)
	if err != nil || len(all) != want {
		t.Fatalf("found %d files, %v, want %d", len(all), err, want)
	}
	for _, f := range all {
		if f.Err != nil || len(f.File.Servers) != 1 || f.File.Client != f.Client {
			t.Errorf("%s: %v, of %q, want %q", f.Path, f.Err, f.File.Client, f.Client)
		}
	}
	if some, err := FindClients(cwd, "zed", "codex"); err != nil || len(some) != 3 {
		t.Errorf("of two clients: %d files, %v", len(some), err)
	}
	write(t, filepath.Join(home, ".aws", "amazonq", "cli-agents", "other.json"), `{"mcpServers": {"b": {"command": "x"}}}`)
	write(t, filepath.Join(home, ".aws", "amazonq", "cli-agents", "agent_config.json.example"), `{"mcpServers": {"c": {"command": "x"}}}`)
	if none := ClientFiles("amazonq"); len(none) != 5 {
		t.Errorf("looked for %q", none)
	}
	ides, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(ides, "JetBrains", "a file"), "")
	write(t, filepath.Join(ides, "JetBrains", "PyCharm2025.3", "options", "llm.mcpServers.xml"), "<application />")
	if found, err := FindClients(cwd, "jetbrains"); err != nil || len(found) != 3 {
		t.Errorf("of JetBrains: %d files, %v", len(found), err)
	}
	if agents, err := FindClients(cwd, "amazonq"); err != nil || len(agents) != 5 || listed(agents[4].File.Servers) != "b" {
		t.Errorf("of Amazon Q: %d files, %v", len(agents), err)
	}
	for id, want := range map[string]string{"emacs": "there are amazonq, amp,", "zet": `did you mean "zed"?`, "cursr": `did you mean "cursor"?`} {
		if _, err := FindClients(cwd, id); err == nil || !strings.Contains(err.Error(), "no client \""+id+"\" is known; "+want) {
			t.Errorf("of an unknown client: %v", err)
		}
	}
}

// The files of an administrator are in a folder of the system.
func TestManagedFiles(t *testing.T) {
	for system, folder := range map[string]string{
		"linux": "/etc/claude-code/", "darwin": "/Library/Application Support/ClaudeCode/", "windows": "C:/Program Files/ClaudeCode/",
	} {
		managed := ""
		for _, file := range append(byID("claude-code").files, managedByClaude...) {
			if path, ok := strings.CutPrefix(file, system+":"+folder); ok {
				managed += path + " "
			}
		}
		if managed != "managed-mcp.json managed-settings.json " {
			t.Errorf("on %s: %s", system, managed)
		}
	}
	if runtime.GOOS == "linux" {
		if path, ok := expandPlace("linux:/etc/claude-code/managed-mcp.json", "linux"); !ok || path != "/etc/claude-code/managed-mcp.json" {
			t.Errorf("%q, %v", path, ok)
		}
		if path, ok := expandPlace("$NO_SUCH_VARIABLE/x.json", "linux"); ok {
			t.Errorf("without the variable: %q", path)
		}
	}
}

// sample is a file of a client with one server.
func sample(c client, path string) string {
	switch filepath.Ext(path) {
	case ".xml":
		return `<application><component><McpServerCommand><option name="name" value="a" /><option name="programPath" value="x" /></McpServerCommand></component></application>`
	case ".toml":
		return "[mcp_servers.a]\ncommand = \"x\"\n"
	case ".yaml":
		if c.id == "goose" {
			return "extensions:\n  a:\n    type: stdio\n    cmd: x\n"
		}
		return "mcpServers:\n  - name: a\n    command: x\n"
	}
	root := c.rootPaths()[0]
	if filepath.Base(path) == "settings.json" && c.id == "vscode" {
		root = rootNested
	}
	text := `{"a": {"type": "stdio", "command": "x"}}`
	if c.id == "opencode" {
		text = `{"a": {"type": "local", "command": ["x"]}}`
	}
	for i := len(root) - 1; i >= 0; i-- {
		text = `{"` + root[i] + `": ` + text + `}`
	}
	return text
}

// A client that follows the XDG Base Directory Specification has its file where XDG_CONFIG_HOME says, and in ~/.config
// where that is empty or relative.
func TestFindClientsByXDG(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Zed, Crush and Goose have folders of Windows there")
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	for variable, folder := range map[string]string{
		filepath.Join(home, "xdg"): filepath.Join(home, "xdg"), "": filepath.Join(home, ".config"), "xdg": filepath.Join(home, ".config"),
	} {
		t.Setenv("XDG_CONFIG_HOME", variable)
		for client, below := range map[string]string{
			"opencode": "opencode/opencode.json", "crush": "crush/crush.json", "goose": "goose/config.yaml", "zed": "zed/settings.json",
		} {
			if client == "zed" && runtime.GOOS != "linux" {
				continue
			}
			if want := filepath.Join(folder, below); !slices.Contains(ClientFiles(client), want) {
				t.Errorf("XDG_CONFIG_HOME=%q: %s has %q, without %s", variable, client, ClientFiles(client), want)
			}
		}
	}
}

// Of the projects in a file the one counts in which Wharf runs; a file that cannot be read
// is told of, and one without servers is not.
func TestFindClientsOddFiles(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	shop := filepath.Join(home, "shop")
	write(t, filepath.Join(home, ".claude.json"), `{"projects": {
		"`+filepath.ToSlash(home)+`/blog": {"mcpServers": {"posts": {"command": "x"}}},
		"`+filepath.ToSlash(shop)+`": {"mcpServers": {"goods": {"command": "./x", "args": ["${workspaceFolder}/y"]}}}}}`)
	write(t, filepath.Join(home, ".gemini", "settings.json"), `{"theme": "dark"}`)
	write(t, filepath.Join(home, ".cursor", "mcp.json"), `{"mcpServers": `)
	if err := os.MkdirAll(filepath.Join(home, ".codex", "config.toml"), 0o777); err != nil {
		t.Fatal(err)
	}
	all, err := FindClients(filepath.Join(shop, "src"))
	if err != nil || len(all) != 3 {
		t.Fatalf("found %+v, %v", all, err)
	}
	claude := all[0].File
	if got := claude.Servers; listed(got) != "goods" || filepath.ToSlash(got[0].Dir) != filepath.ToSlash(shop) || got[0].Args[0] != shop+"/y" || got[0].Command != filepath.Join(shop, "x") {
		t.Errorf("servers %+v", got)
	}
	if len(claude.Notes) != 1 || !strings.Contains(claude.Notes[0], "the servers of the project "+filepath.ToSlash(home)+"/blog are imported by `wharf import` in that folder") {
		t.Errorf("notes %q", claude.Notes)
	}
	for i, want := range map[int]string{1: "ends too early", 2: "is no regular file"} {
		if all[i].Err == nil || !strings.Contains(all[i].Err.Error(), want) {
			t.Errorf("%s: %v, want %q", all[i].Path, all[i].Err, want)
		}
	}
}

// A client whose file has no servers is passed over, and one whose file has a text for them is not.
func TestFoundWithoutServers(t *testing.T) {
	for text, says := range map[string]string{
		`{"mcpServers": null}`:          "",
		`{"command": "node"}`:           "command: is a key of a server, where its name is expected",
		`{"x": {"command": "node"}}`:    `x: looks like a server; write {"mcpServers": {"x": {…}}}`,
		`{"mcpServers": "node srv.js"}`: "mcpServers: expected a table of servers, not a text",
		`{"mcpservers": {}}`:            "it has mcpservers (did you mean mcpServers?)",
	} {
		home := project(t, map[string]string{".cursor/mcp.json": text})
		t.Setenv("HOME", home)
		t.Setenv("USERPROFILE", home)
		all, err := FindClients(home, "cursor")
		if err != nil || len(all) != 0 && says == "" || says != "" && (len(all) != 1 || !strings.Contains(fmt.Sprint(all[0].Err), says)) {
			t.Errorf("%s: %+v, %v", text, all, err)
		}
	}
}

// What agents keep in a project is found as what editors keep there, and nothing is said
// of settings without servers. In the home folder the same files are the user's own.
func TestDiscoverFilesOfAgents(t *testing.T) {
	files := map[string]string{
		".roo/mcp.json":           `{"mcpServers": {"roo": {"command": "x", "timeout": 60}}}`,
		".codex/config.toml":      "model = \"m\"\n[mcp_servers.codex]\ncommand = \"x\"\nargs = [\"${X}\"]\n",
		"opencode.json":           `{"mcp": {"open": {"type": "local", "command": ["x"], "environment": {"A": "{env:A}"}}, "secret": {"type": "local", "command": ["x", "{file:~/.ssh/id}"]}}}`,
		".gemini/settings.json":   `{"theme": "dark"}`,
		".zed/settings.json":      `{"context_servers": `,
		"crush.json":              `{"mcp": {"crush": {"type": "http", "url": "https://a.example", "headers": {"A": "$(cat ~/.ssh/id)"}}}}`,
		".kiro/settings/mcp.json": `{}`,
	}
	dir := project(t, files)
	d := Discover(dir)
	if got := listed(d.Servers); got != "roo codex open" {
		t.Errorf("servers %s", got)
	}
	if roo := d.Servers[0]; roo.Timeout.Seconds() != 60 || d.Servers[1].Args[0] != "$${X}" || len(d.Servers[2].Variables()) != 1 {
		t.Errorf("servers %+v", d.Servers)
	}
	said := strings.Join(d.Warnings, "\n")
	for _, want := range []string{
		"server secret: it means what is in the file", "server crush: headers.A: holds a command", ".zed/settings.json:1: is not JSON", ".kiro/settings/mcp.json: is a file of Kiro, and has no servers",
	} {
		if !strings.Contains(filepath.ToSlash(said), want) {
			t.Errorf("warnings %q lack %q", d.Warnings, want)
		}
	}
	if len(d.Warnings) != 4 || len(d.Files) != 6 {
		t.Errorf("warnings %q, files %q", d.Warnings, d.Files)
	}
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
	if d := Discover(dir); listed(d.Servers) != "roo open" {
		t.Errorf("in the home folder: servers %s", listed(d.Servers))
	}
}

// The agents of a project are files of which there may be many, and several may have one server.
func TestDiscoverAgents(t *testing.T) {
	many := make(map[string]string)
	for i := range 2 * maxProjectAgents {
		many[fmt.Sprintf("many/.kiro/agents/%d.json", i)] = fmt.Sprintf(oneServer, fmt.Sprint("s", i))
	}
	files := map[string]string{
		".ai/mcp/mcp.json":               `{"mcpServers": {"ide": {"command": "x"}}}`,
		".kiro/agents/b.json":            `{"mcpServers": {"back": {"command": "x"}, "git": {"command": "x"}}}`,
		".kiro/agents/a.json":            `{"name": "a", "mcpServers": {"git": {"command": "x"}}}`,
		".kiro/agents/c.json":            `{"name": "c", "tools": ["read"]}`,
		".kiro/agents/d.md":              "---\nname: d\n---\n",
		".amazonq/cli-agents/ship.json":  `{"mcpServers": {"ship": {"command": "x", "env": {"A": "${env:A}"}}}}`,
		".amazonq/cli-agents/old.json~":  `{"mcpServers": {"old": {"command": "x"}}}`,
		"empty/.ai/mcp/mcp.json":         "",
		"odd/.kiro/agents":               "no folder",
		"odd/.amazonq/cli-agents/x.json": `{"mcpServers": `,
	}
	maps.Copy(files, many)
	dir := project(t, files)
	d := Discover(dir)
	if got := listed(d.Servers); got != "ide git back ship" || len(d.Warnings) > 0 || len(d.Files) != 4 {
		t.Errorf("servers %s, files %q, warnings %q", got, d.Files, d.Warnings)
	}
	if s := d.Servers[1]; s.Project.File != ".kiro/agents/a.json" || s.Dir != dir || !slices.Equal(d.Servers[3].Variables(), []string{"A"}) {
		t.Errorf("%+v of %+v", s, s.Project)
	}
	if said := strings.Join(d.Notes, "\n"); !strings.Contains(filepath.ToSlash(said), "b.json: server git: "+filepath.ToSlash(dir)+"/.kiro/agents/a.json has a server git, which goes first") {
		t.Errorf("notes %q", d.Notes)
	}
	if d := Discover(filepath.Join(dir, "many")); len(d.Servers) != maxProjectAgents || len(d.Warnings) > 0 {
		t.Errorf("%d servers, warnings %q", len(d.Servers), d.Warnings)
	}
	for folder, want := range map[string]string{"empty": "", "odd": "x.json:1: is not JSON"} {
		d := Discover(filepath.Join(dir, folder))
		if said := strings.Join(d.Warnings, "\n"); len(d.Servers) > 0 || !strings.Contains(said, want) || want == "" && said != "" {
			t.Errorf("%s: %s, %q", folder, listed(d.Servers), d.Warnings)
		}
	}
	t.Setenv("HOME", dir)
	t.Setenv("USERPROFILE", dir)
	if d := Discover(dir); listed(d.Servers) != "ship" {
		t.Errorf("in the home folder: servers %s", listed(d.Servers))
	}
}

// What the settings of Claude Code deny, the user's and those of the project, is denied to the
// servers of its file. A file of settings that cannot be read is told of.
func TestDeniedByClaudeCode(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(home, "mine"))
	const servers = `{"mcpServers": {"cc1": {"command": "x"}, "my server": {"command": "y"}, "whole": {"command": "z"}, "free": {"command": "f"}}}`
	shop := filepath.Join(home, "shop")
	for path, text := range map[string]string{
		".claude.json":                     servers,
		".claude/settings.json":            `{"permissions": {"deny": ["mcp__cc1__die", "mcp__whole", "Bash(rm *)"], "allow": ["mcp__cc1__*"]}}`,
		"mine/.claude.json":                `{"mcpServers": {"own": {"command": "x"}}}`,
		"mine/settings.json":               `{"permissions": {"deny": ["mcp__*__die"]}}`,
		"shop/.git/HEAD":                   "",
		"shop/.mcp.json":                   `{"mcpServers": {"goods": {"command": "x"}}}`,
		"shop/.claude/settings.json":       `{"permissions": {"deny": ["mcp__my_server__get_*", "mcp__goods__sell"]}}`,
		"shop/.claude/settings.local.json": `{"permissions": `,
	} {
		write(t, filepath.Join(home, filepath.FromSlash(path)), text)
	}
	src := filepath.Join(shop, "src")
	if err := os.MkdirAll(src, 0o755); err != nil {
		t.Fatal(err)
	}
	all, err := FindClients(src, "claude-code")
	if err != nil || len(all) != 2 {
		t.Fatalf("found %+v, %v", all, err)
	}
	got := ""
	for _, f := range all {
		for _, s := range f.File.Servers {
			got += fmt.Sprintf("%s %q\n", s.Name, s.DisabledTools)
		}
	}
	if want := "cc1 [\"die\"]\nmy-server [\"get_*\"]\nwhole [\"*\"]\nfree []\nown [\"*__die\" \"_die\" \"die\"]\n"; got != want {
		t.Errorf("forbidden are\n%s, want\n%s", got, want)
	}
	said := strings.Join(append(all[0].File.Warnings, all[0].File.Notes...), "\n")
	for _, want := range []string{
		"settings.local.json:1: is not JSON", "what permissions.deny forbids is not known",
		"server cc1: disabled_tools has what permissions.deny in " + filepath.Join(home, ".claude", "settings.json") + " says: mcp__cc1__die",
		"server whole: disabled_tools has what permissions.deny in " + filepath.Join(home, ".claude", "settings.json") + " says: mcp__whole",
		filepath.Join(shop, ".claude", "settings.json") + ": permissions.deny: mcp__goods__sell is about no server that is read here",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it says %s\nwithout %q", said, want)
		}
	}
	d := Discover(shop)
	if len(d.Servers) != 1 || d.Servers[0].Permits("sell") || !d.Servers[0].Permits("buy") {
		t.Errorf("of the project: %+v, %q", d.Servers, d.Warnings)
	}
	if f, err := Read(filepath.Join(home, ".claude.json")); err != nil || f.Servers[0].Permits("die") {
		t.Errorf("as --config: %v, %v", f, err)
	}
}

// A command line in a file of a JetBrains IDE is split as its platform does.
func TestPlatformWords(t *testing.T) {
	for line, want := range map[string]string{
		"": `[]`, "  ": `[]`, " a  b\tc ": `["a" "b" "c"]`, `a="1 2" b`: `["a=1 2" "b"]`, `a " " b`: `["a" " " "b"]`, `"a \"1 2\"" b`: `["a \"1 2\"" "b"]`,
		`C:\x 'a b'`: `["C:\\x" "'a" "b'"]`, `""`: `[""]`, `"a b`: `["a b"]`, `\`: `["\\"]`,
	} {
		if got := fmt.Sprintf("%q", platformWords(line)); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}
