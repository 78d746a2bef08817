package config

import (
	"os"
	"path/filepath"
	"runtime"
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
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "COPILOT_HOME", "CODEX_HOME"} {
		t.Setenv(name, filepath.Join(home, name))
	}
	t.Setenv("OPENCODE_CONFIG", filepath.Join(home, "mine", "opencode.json"))
	want := 0
	for _, c := range clients {
		for _, file := range c.files {
			path, ok := expandPlace(file, runtime.GOOS)
			if !ok {
				continue
			}
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
	if _, err := FindClients(cwd, "zet"); err == nil || !strings.Contains(err.Error(), `no client "zet" is known; there are amazonq, amp,`) {
		t.Errorf("of an unknown client: %v", err)
	}
}

// sample is a file of a client with one server.
func sample(c client, path string) string {
	switch filepath.Ext(path) {
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
