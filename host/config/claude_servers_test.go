package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// Servers that settings of Claude Code deny, or do not allow, are disabled in its files, and those that a person
// has rejected in a project's .mcp.json there.
func TestServersThatClaudeDenies(t *testing.T) {
	const local, remote = `"a": {"command": "npx", "args": ["-y", "a"]}, "b": {"command": "b"}`, `"r": {"type": "http", "url": "https://mcp.example.com/x"}`
	for _, tt := range []struct{ settings, states, own, shop string }{
		{`{}`, `{}`, "a b r", "a b r"},
		{`{"disabledMcpjsonServers": ["a"]}`, `{}`, "a b r", "b r"},
		{`{}`, `{"projects": {"SHOP": {"disabledMcpjsonServers": ["b"]}, "/else": {"disabledMcpjsonServers": ["a"]}}}`, "a b r", "a r"},
		{`{}`, `{"projects": {"SHOP": {"disabledMcpServers": ["b"]}, "/else": {"disabledMcpServers": ["a"]}}}`, "a b r", "a r"},
		{`{"deniedMcpServers": [{"serverName": "a"}, {"serverName": "R"}]}`, `{}`, "b r", "b r"},
		{`{"deniedMcpServers": [{"serverCommand": ["npx", "-y", "a"]}, {"serverCommand": ["b", "c"]}]}`, `{}`, "b r", "b r"},
		{`{"deniedMcpServers": [{"serverUrl": "https://*.example.com/*"}, {}, 5]}`, `{}`, "a b", "a b"},
		{`{"allowedMcpServers": []}`, `{}`, "", ""},
		{`{"allowedMcpServers": [{"serverName": "a"}, {"serverName": "r"}]}`, `{}`, "a r", "a r"},
		{`{"allowedMcpServers": [{"serverName": "a"}, {"serverCommand": ["b"]}, {"serverName": "r"}]}`, `{}`, "b r", "b r"},
		{`{"allowedMcpServers": [{"serverName": "a"}, {"serverName": "r"}, {"serverUrl": "https://other/*"}]}`, `{}`, "a", "a"},
		{`{"allowedMcpServers": [{"serverName": "a"}], "deniedMcpServers": [{"serverName": "a"}]}`, `{}`, "", ""},
		{`{"deniedMcpServers": [` + strings.Repeat(`{"serverName": "x"},`, maxRules) + `{}]}`, `{}`, "", ""},
	} {
		home := t.TempDir()
		t.Setenv("HOME", home)
		t.Setenv("USERPROFILE", home)
		t.Setenv("CLAUDE_CONFIG_DIR", "")
		shop := filepath.Join(home, "shop")
		states := strings.Replace(tt.states, "SHOP", filepath.ToSlash(shop), 1)
		write(t, filepath.Join(home, ".claude.json"), `{"mcpServers": {`+local+","+remote+"}, "+strings.TrimPrefix(states, "{"))
		if states == "{}" {
			write(t, filepath.Join(home, ".claude.json"), `{"mcpServers": {`+local+","+remote+"}}")
		}
		write(t, filepath.Join(shop, ".mcp.json"), `{"mcpServers": {`+local+","+remote+"}}")
		write(t, filepath.Join(home, ".claude", "settings.json"), tt.settings)
		inProject := Discover(shop)
		var left []string
		for _, s := range inProject.Servers {
			if !s.Disabled {
				left = append(left, s.Name)
			}
		}
		if got := strings.Join(left, " "); got != tt.shop || len(inProject.Warnings) > 0 {
			t.Errorf("%s, %s: the project has %q, %q", tt.settings, tt.states, got, inProject.Warnings)
		}
		for path, want := range map[string]string{filepath.Join(home, ".claude.json"): tt.own, filepath.Join(shop, ".mcp.json"): tt.shop} {
			f, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			var enabled []string
			for _, s := range f.Servers {
				if !s.Disabled {
					enabled = append(enabled, s.Name)
				}
			}
			if got := strings.Join(enabled, " "); got != want {
				t.Errorf("%s, %s: %s has %q, want %q", tt.settings, tt.states, path, got, want)
			}
		}
	}
}

// The list of a project permits no server that the person's own list leaves out.
func TestProjectAllowsNoMore(t *testing.T) {
	home := project(t, map[string]string{
		".claude/settings.json":      `{"allowedMcpServers": [{"serverName": "a"}]}`,
		"shop/.claude/settings.json": `{"allowedMcpServers": [{"serverName": "a"}, {"serverName": "b"}]}`,
		"shop/.mcp.json":             `{"mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}}}`,
	})
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	f, err := Read(filepath.Join(home, "shop", ".mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, servers := range [][]Server{f.Servers, Discover(filepath.Join(home, "shop")).Servers} {
		if len(servers) != 2 || servers[0].Disabled || !servers[1].Disabled {
			t.Errorf("%+v", servers)
		}
	}
}
