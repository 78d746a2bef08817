package config

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// What a person's own file of a client forbids binds the servers of a project too, and is no part of what is approved.
func TestOwnSettingsBindProjects(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the places are those of Linux")
	}
	const server = `{"x": {"command": "y"}}`
	for _, c := range []struct{ file, text, own, rules, want string }{
		{".gemini/settings.json", `{"mcpServers": ` + server + `}`, ".gemini/settings.json", `{"mcp": {"excluded": ["x"]}}`, "disabled"},
		{".qwen/settings.json", `{"mcpServers": ` + server + `}`, ".qwen/settings.json", `{"mcp": {"allowed": ["z"]}}`, "disabled"},
		{"opencode.json", `{"mcp": {"x": {"type": "local", "command": ["y"]}}}`, ".config/opencode/opencode.json", `{"permission": {"x_get": "deny"}}`, "put"},
		{"opencode.json", `{"mcp": {"x": {"type": "local", "command": ["y"]}}, "tools": {"x_get": true}}`, ".config/opencode/opencode.json", `{"tools": {"x_get": false}}`, "put"},
		{"opencode.json", `{"mcp": {"x": {"type": "local", "command": ["y"]}}, "tools": {"x_get": false}}`, ".config/opencode/opencode.json", `{"tools": {"*": true}}`, "put"},
		{"opencode.json", `{"mcp": {"x": {"type": "local", "command": ["y"]}}}`, ".config/opencode/opencode.json", `{"tools": {"*": false, "x_get": true}}`, "get"},
		{".crush.json", `{"mcp": {"x": {"type": "stdio", "command": "y"}}}`, ".config/crush/crush.json", `{"options": {"disabled_tools": ["mcp_x_get"]}}`, "put"},
		{".zed/settings.json", `{"context_servers": ` + server + `}`, ".config/zed/settings.json", `{"agent": {"tool_permissions": {"tools": {"mcp:x:get": {"default": "deny"}}}}}`, "put"},
		{".amp/settings.json", `{"amp.mcpServers": ` + server + `}`, ".config/amp/settings.json", `{"amp.tools.disable": ["mcp__x__get"]}`, "put"},
		{".vscode/mcp.json", `{"servers": ` + server + `}`, ".config/Code/User/settings.json", `{"chat.mcp.access": "none"}`, "disabled"},
		{".gemini/settings.json", `{"mcpServers": ` + server + `}`, ".gemini/settings.json", `{"mcp": `, "get put; what it forbids is not known"},
		{".gemini/settings.json", `{"mcpServers": ` + server + `}`, ".gemini/settings.json", ``, "get put"},
	} {
		dir := project(t, map[string]string{"shop/.git/x": "", "shop/" + c.file: c.text, "home/" + c.own: c.rules})
		t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "home", ".config"))
		d := Discover(filepath.Join(dir, "shop"))
		if len(d.Servers) != 1 {
			t.Errorf("%s: %+v, %q", c.file, d.Servers, d.Warnings)
			continue
		}
		s := d.Servers[0]
		got := strings.Join(slices.DeleteFunc([]string{"get", "put"}, func(tool string) bool { return !s.Permits(tool) }), " ")
		if s.Disabled {
			got = "disabled"
		}
		for _, w := range d.Warnings {
			_, w, _ = strings.Cut(w, "; ")
			got += "; " + w
		}
		if got != c.want {
			t.Errorf("%s with %s: %s; want %s", c.text, c.rules, got, c.want)
		}
		if hint := s.Remedy("") + s.Remedy("get") + s.Remedy("*"); strings.Contains(c.want, "get put") == strings.Contains(hint, " in "+dir) {
			t.Errorf("%s with %s: the hint is %q", c.text, c.rules, hint)
		}
		if !strings.Contains(c.text, `"tools"`) && len(s.DisabledByFile())+len(s.EnabledByFile()) > 0 {
			t.Errorf("%s with %s: a person would approve %q and %q", c.text, c.rules, s.EnabledByFile(), s.DisabledByFile())
		}
	}
}

// A server that GitHub Copilot CLI has off is disabled, for a person and in a project.
func TestCopilotHasServersOff(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("COPILOT_HOME", "")
	own, shop := filepath.Join(home, ".copilot", "mcp-config.json"), filepath.Join(home, "shop")
	write(t, own, `{"mcpServers": {"off": {"command": "c"}, "on": {"command": "c"}, "was": {"command": "c"}}}`)
	write(t, filepath.Join(home, ".copilot", "settings.json"), `{"disabledMcpServers": ["off"]} // kept by it`)
	write(t, filepath.Join(home, ".copilot", "config.json"), `{"disabledMcpServers": ["was"]}`)
	write(t, filepath.Join(shop, ".github", "mcp.json"), `{"mcpServers": {"off": {"command": "c"}, "on": {"command": "c"}, "was": {"command": "c"}}}`)
	f, err := Read(own)
	if err != nil {
		t.Fatal(err)
	}
	for _, servers := range [][]Server{f.Servers, Discover(shop).Servers} {
		if len(servers) != 3 || !servers[0].Disabled || servers[1].Disabled || !servers[2].Disabled {
			t.Errorf("%s", listed(servers))
		}
	}
}
