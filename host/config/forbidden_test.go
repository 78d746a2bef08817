package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestForbiddenIsBounded reads hostile rules in little time: what is not compared forbids all.
func TestForbiddenIsBounded(t *testing.T) {
	var servers, rules []string
	for i := range 1200 {
		servers = append(servers, fmt.Sprintf(`"s%d": {"command": "x"}`, i))
		rules = append(rules, fmt.Sprintf(`"*a*b%d": false`, i))
	}
	all := strings.Join(servers, ",")
	for name, text := range map[string]string{
		"many rules":     `{"mcpServers": {` + all + `}, "tools": {` + strings.Join(rules, ",") + `}}`,
		"rules":          `{"mcpServers": {` + all + `}, "tools": {` + strings.Join(rules[:maxRules], ",") + `}}`,
		"a long pattern": `{"mcpServers": {` + all + `}, "tools": {"` + strings.Repeat("*a", 100_000) + `": false}}`,
		"stars":          `{"mcpServers": {` + all + `}, "tools": {"` + strings.Repeat("*", 100_000) + `": false}}`,
		"starts":         `{"mcpServers": {` + all + `}, "amp.mcpPermissions": [{"matches": {"command": "` + strings.Repeat("*x", 100_000) + `"}, "action": "allow"}]}`,
	} {
		f, err := Parse("my.json", []byte(text))
		if err != nil || len(f.Servers) != 1200 {
			t.Fatal(name, err)
		}
		if last := f.Servers[1199]; !last.Disabled && last.Permits("xyz") {
			t.Errorf("%s: %v", name, last.DisabledTools)
		}
	}
}

// TestForbidden keeps forbidden what a client forbids beside the entries of its servers.
func TestForbidden(t *testing.T) {
	const x, tools = `"x": {"command": "y"}`, " get die get_all del_one del_two "
	for _, c := range []struct{ file, text, want string }{
		{"opencode.json", `{"mcp": {` + x + `}, "tools": {"x_die": false, "write": false}}`, "get get_all del_one del_two"},
		{"opencode.json", `{"mcp": {` + x + `}, "tools": {"x*": false}}`, ""},
		{"opencode.json", `{"mcp": {` + x + `}, "agent": {"build": {"tools": {"x_die": false}}, "plan": {"tools": {"x_get": false}}}}`, "get get_all del_one del_two"},
		{"opencode.json", `{"default_agent": "plan", "mcp": {` + x + `}, "agent": {"build": {"tools": {"x_die": false}}, "plan": {"permission": {"x_get": "deny"}}}}`, "die get_all del_one del_two"},
		{"opencode.json", `{"mcp": {` + x + `}, "mode": {"build": {"permission": "deny"}}}`, ""},
		{"opencode.json", `{"mcp": {` + x + `}, "tools": {"x_*": false}, "agent": {"build": {"tools": {"x_get": true}}}}`, "get"},
		{"opencode.json", `{"mcp": {` + x + `}, "tools": {"x_*": false}}`, ""},
		{"opencode.json", `{"mcp": {` + x + `}, "tools": {"x_del*": false}}`, "get die get_all"},
		{"opencode.json", `{"mcp": {` + x + `}, "tools": {"x_di?": false}}`, "get get_all del_one del_two"},
		{"opencode.json", `{"mcp": {` + x + `}, "tools": {"*_del_*": false}}`, "get die get_all"},
		{"opencode.json", `{"mcp": {` + x + `}, "tools": {"y*": false, "xx_*": false}}`, "get die get_all del_one del_two"},
		{"opencode.json", `{"mcp": {` + x + `}, "tools": {"*": false, "x_*": true}}`, "get die get_all del_one del_two"},
		{"opencode.json", `{"mcp": {` + x + `}, "tools": {"x_*": true, "*": false}}`, ""},
		{"opencode.json", `{"mcp": {` + x + `}, "tools": {"x_*": false, "x_get": true}}`, "get"},
		{"opencode.json", `{"mcp": {` + x + `}, "tools": {"x_get": true, "x_*": false}}`, ""},
		{"opencode.json", `{"mcp": {` + x + `}, "tools": {"x_*": false, "x_get*": true}}`, "note"},
		{"opencode.json", `{"mcp": {` + x + `}, "tools": {"*": false, "x_?": true}}`, ""},
		{"opencode.json", `{"mcp": {` + x + `}, "tools": {"*": false, "x_get": true, "x_*": false}}`, ""},
		{"opencode.json", `{"mcp": {` + x + `}, "tools": {"x_die": false}, "permission": {"*": "ask"}}`, "get get_all del_one del_two"},
		{"opencode.json", `{"mcp": {` + x + `}, "permission": {"x_die": "deny", "x_get": "ask"}}`, "get get_all del_one del_two"},
		{"opencode.json", `{"mcp": {` + x + `}, "permission": {"x_die": {"*": "deny"}}}`, "get get_all del_one del_two"},
		{"opencode.json", `{"mcp": {` + x + `}, "permission": "deny"}`, ""},
		{"opencode.json", `{"mcp": {"servers": {"x": {"type": "local", "command": ["y"]}}}, "tools": {"x_die": false}}`, "get get_all del_one del_two"},
		{"crush.json", `{"mcp": {` + x + `}, "options": {"disabled_tools": ["bash", "mcp_x_die"]}}`, "get get_all del_one del_two"},
		{"amp/settings.json", `{"amp.mcpServers": {` + x + `}, "amp.tools.disable": ["mcp__x__die", "get_*", "builtin:get"]}`, "get del_one del_two"},
		{"amp/settings.json", `{"amp.mcpServers": {` + x + `}, "amp.tools.enable": ["mcp__x__get", "die", "Read"]}`, "get die"},
		{"amp/settings.json", `{"amp.mcpServers": {` + x + `}, "amp.tools.enable": ["mcp__y__*"]}`, ""},
		{"amp/settings.json", `{"amp.mcpServers": {` + x + `}, "amp.tools.enable": ["mcp__x__*"], "amp.tools.disable": ["get_*"]}`, "get die del_one del_two"},
		{"amp/settings.json", `{"amp.mcpServers": {` + x + `}, "amp.tools.enable": ["*"]}`, "get die get_all del_one del_two"},
		{"amp/settings.json", `{"amp.mcpServers": {` + x + `}, "amp.tools.enable": ["mcp__x__get*"], "amp.permissions": [{"tool": "mcp__x__*", "action": "allow"}]}`, "get get_all"},
		{"amp/settings.json", `{"amp.mcpServers": {` + x + `}, "amp.permissions": [{"tool": "mcp__x__get", "action": "ask"}, {"tool": "mcp__x__*", "action": "reject"}]}`, "get"},
		{"amp/settings.json", `{"amp.mcpServers": {` + x + `}, "amp.permissions": [{"tool": "mcp__x__get", "matches": {"a": "b"}, "action": "reject"}]}`, "note get die get_all del_one del_two"},
		{"amp/settings.json", `{"amp.mcpServers": {` + x + `}, "amp.mcpPermissions": [{"matches": {"command": "z"}, "action": "allow"}, {"matches": {"command": "*"}, "action": "reject"}]}`, "disabled"},
		{"amp/settings.json", `{"amp.mcpServers": {` + x + `}, "amp.mcpPermissions": [{"matches": {"command": "y"}, "action": "allow"}, {"matches": {"command": "*"}, "action": "reject"}]}`, "get die get_all del_one del_two"},
		{"amp/settings.json", `{"amp.mcpServers": {` + x + `}, "amp.mcpPermissions": [{"matches": {"command": ["z"]}, "action": "allow"}, {"matches": {"command": "*"}, "action": "reject"}]}`, "disabled"},
		{"amp/settings.json", `{"amp.mcpServers": {` + x + `}, "amp.mcpPermissions": [{"matches": {"command": ["z"]}, "action": "reject"}]}`, "disabled"},
		{"amp/settings.json", `{"amp.mcpServers": {` + x + `}, "amp.permissions": [{"tool": "mcp__x__*", "action": "reject"}, {"tool": "mcp__x__get", "action": "ask"}, {"tool": "*", "action": "reject"}]}`, ""},
		{"amp/settings.json", `{"amp.mcpServers": {` + x + `}, "amp.mcpPermissions": [{"matches": {"url": "*"}, "action": "reject"}]}`, "get die get_all del_one del_two"},
		{".gemini/settings.json", `{"mcpServers": {` + x + `}, "mcp": {"excluded": ["X"]}}`, "disabled"},
		{".gemini/settings.json", `{"mcpServers": {` + x + `}, "mcp": {"allowed": ["z"]}}`, "disabled"},
		{".gemini/settings.json", `{"mcpServers": {` + x + `}, "mcp": {"allowed": []}}`, "disabled"},
		{".gemini/settings.json", `{"mcpServers": {` + x + `}, "mcp": {"allowed": ["x"]}}`, "get die get_all del_one del_two"},
		{".gemini/settings.json", `{"mcpServers": {` + x + `}, "excludeMCPServers": ["x"]}`, "disabled"},
		{".gemini/settings.json", `{"mcpServers": {` + x + `}, "allowMCPServers": ["z"]}`, "disabled"},
		{".gemini/settings.json", `{"mcpServers": {` + x + `}, "tools": {"exclude": ["x__die", "mcp_x_get", "del_one", "ShellTool(rm)"]}}`, "get_all del_two"},
		{".qwen/settings.json", `{"mcpServers": {` + x + `}, "tools": {"exclude": ["mcp__x__get", "x__die"], "disabled": ["mcp__x__del_one"]}}`, "get_all del_two"},
		{".qwen/settings.json", `{"mcpServers": {` + x + `}, "excludeTools": ["mcp__x"]}`, ""},
		{".amazonq/cli-agents/a.json", `{"mcpServers": {` + x + `}, "tools": ["fs_read", "@x/get", "@x/die", "@y/del_one"]}`, "get die"},
		{".amazonq/cli-agents/a.json", `{"mcpServers": {` + x + `}, "tools": ["@x", "@y/get"]}`, "get die get_all del_one del_two"},
		{".amazonq/cli-agents/a.json", `{"mcpServers": {` + x + `}, "tools": ["*"]}`, "get die get_all del_one del_two"},
		{".amazonq/cli-agents/a.json", `{"mcpServers": {` + x + `}, "allowedTools": ["@x/get"]}`, "get die get_all del_one del_two"},
		{".kiro/agents/a.json", `{"mcpServers": {` + x + `}, "tools": ["read", "@xx"]}`, ""},
		{".kiro/agents/a.json", `{"mcpServers": {` + x + `}, "tools": ["@x/get*"]}`, "get get_all"},
		{"copy.json", `{"mcpServers": {` + x + `}, "tools": ["read"]}`, "get die get_all del_one del_two"},
		{"copy.json", `{"mcpServers": {` + x + `}, "tools": ["read"], "allowedTools": []}`, "note"},
		{"copy.json", `{"mcpServers": {` + x + `}, "tools": ["@x/get", "*"]}`, "get die get_all del_one del_two"},
		{"copy.json", `{"mcpServers": {` + x + `}, "tools": ["@x/get"]}`, "note get"},
		{"copy.json", `{"mcpServers": {` + x + `}, "mcp": {"excluded": ["x"]}}`, "disabled"},
		{"zed/settings.json", `{"context_servers": {` + x + `}, "agent": {"tool_permissions": {"tools": {"mcp:x:die": {"default": "deny"}, "mcp:x:get": {"default": "confirm"}}}}}`, "get get_all del_one del_two"},
		{"zed/settings.json", `{"context_servers": {` + x + `}, "agent": {"tool_permissions": {"default": "deny"}}}`, ""},
		{"zed/settings.json", `{"context_servers": {` + x + `}, "agent": {"tool_permissions": {"tools": {"mcp:x:die": {"always_deny": [{"pattern": "/etc"}]}, "terminal": {"always_deny": [{"pattern": "rm"}]}}}}}`, "note get die get_all del_one del_two"},
		{"zed/settings.json", `{"context_servers": {` + x + `}, "agent": {"profiles": {"write": {"context_servers": {"x": {"tools": {"die": false, "get": true}}, "y": {"tools": {"get": false}}}}}}}`, "get get_all del_one del_two"},
		{"zed/settings.json", `{"context_servers": {` + x + `}, "agent": {"default_profile": "mine", "profiles": {"write": {"context_servers": {"x": {"tools": {"die": false}}}}, "mine": {"enable_all_context_servers": true, "context_servers": {"x": {"tools": {"get": false}}}}}}}`, "die get_all del_one del_two"},
		{"zed/settings.json", zedMine(x, `"context_servers": {"x": {"tools": {"get": true}}}`, ``), "get"},
		{"zed/settings.json", `{"context_servers": {` + x + `}, "agent": {"default_profile": "ask", "profiles": {"ask": {"context_servers": {"x": {"tools": {"get": true}}}}}}}`, "get die get_all del_one del_two"},
		{"zed/settings.json", `{"context_servers": {` + x + `}, "agent": {"default_profile": "gone"}}`, "get die get_all del_one del_two"},
		{"zed/settings.json", zedMine(x, `"enable_all_context_servers": false, "context_servers": {"x": {"tools": {"get": true, "die": false}}}`, ``), "get"},
		{"zed/settings.json", zedMine(x, `"enable_all_context_servers": false, "context_servers": {"y": {"tools": {"get": true}}}`, ``), ""},
		{"zed/settings.json", zedMine(x, `"enable_all_context_servers": true, "context_servers": {"x": {"tools": {"get": true}}}`, ``), "get die get_all del_one del_two"},
		{"zed/settings.json", zedMine(x, `"enable_all_context_servers": false, "context_servers": {"x": {"tools": {"get": true, "die": true}}}`, `"default": "allow", "tools": {"mcp:x:get": {"default": "deny"}, "mcp:x:del_one": {"default": "allow"}}`), "die"},
		{"zed/settings.json", zedMine(x, `"enable_all_context_servers": false, "context_servers": {"x": {"tools": {"get": true, "die": true}}}`, `"default": "deny", "tools": {"mcp:x:get": {"default": "confirm"}}`), "get"},
		{"zed/settings.json", zedMine(x, `"enable_all_context_servers": true, "context_servers": {"x": {"tools": {"get": false}}}`, `"default": "deny", "tools": {"mcp:x:get": {"default": "allow"}, "mcp:x:die": {"default": "allow"}}`), "die"},
		{"User/settings.json", `{"mcp": {"servers": {` + x + `}}, "chat.mcp.access": "none"}`, "disabled"},
		{"User/settings.json", `{"mcp": {"servers": {` + x + `}}, "chat.mcp.enabled": false}`, "disabled"},
		{".claude.json", `{"mcpServers": {` + x + `}, "projects": {"/p": {"disabledMcpServers": ["x"]}}}`, "disabled"},
		{".claude.json", `{"mcpServers": {` + x + `}, "projects": {"/q": {"disabledMcpServers": ["x"]}}}`, "get die get_all del_one del_two"},
		{".claude.json", `{"projects": {"/p": {"mcpServers": {` + x + `}, "disabledMcpServers": ["x"]}}}`, "disabled"},
		{"mcp.json", `{"mcpServers": {"x": {"command": "y", "disabledTools": ["*"]}}}`, ""},
		{"mcp.json", `{"mcpServers": {"x": {"command": "y", "enabledTools": ["get", "die"], "tools": {"die": false, "get": {"enabled": true}}}}}`, "get"},
	} {
		f, err := parse(c.file, []byte(c.text), place{cwd: "/p"})
		if err != nil || len(f.Servers) != 1 {
			t.Errorf("%s: %v, %v", c.text, f, err)
			continue
		}
		var got []string
		if len(f.Notes) > 0 {
			got = append(got, "note")
		}
		if f.Servers[0].Disabled {
			got = append(got, "disabled")
		} else {
			got = append(got, slices.DeleteFunc(strings.Fields(tools), func(tool string) bool { return !f.Servers[0].Permits(tool) })...)
		}
		if fmt.Sprint(got) != "["+c.want+"]" {
			t.Errorf("%s: %s %s\nhas %v %q, want %s", c.file, c.text, f.Servers[0].DisabledTools, got, f.Notes, c.want)
		}
	}
}

// zedMine returns settings of Zed whose default profile has these members.
func zedMine(servers, profile, permissions string) string {
	return `{"context_servers": {` + servers + `}, "agent": {"default_profile": "mine", "profiles": {"mine": {` + profile + `}}, "tool_permissions": {` + permissions + `}}}`
}

// TestGeminiSwitches reads which servers a person has turned off in Gemini CLI, in projects too.
func TestGeminiSwitches(t *testing.T) {
	home := project(t, map[string]string{
		".gemini/settings.json":      `{"mcpServers": {"Deploy": {"command": "x"}, "well": {"command": "x"}}}`,
		"shop/.gemini/settings.json": `{"mcpServers": {"deploy": {"command": "x"}}}`,
	})
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	switches := filepath.Join(home, ".gemini", "mcp-server-enablement.json")
	for text, says := range map[string]string{
		`{"deploy": {"enabled": false}, "well": {"enabled": true}, "gone": {"enabled": false}, "odd": 1}`: "",
		`{"deploy": `: "; which servers Gemini CLI has off is not known",
	} {
		write(t, switches, text)
		for _, path := range []string{filepath.Join(home, ".gemini", "settings.json"), filepath.Join(home, "shop", ".gemini", "settings.json")} {
			f, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			if f.Servers[0].Disabled != (says == "") || len(f.Servers) > 1 && f.Servers[1].Disabled {
				t.Errorf("%s: %s: %+v", text, path, f.Servers)
			}
			if said := strings.Join(f.Warnings, "\n"); !strings.HasSuffix(said, says) || says == "" && said != "" {
				t.Errorf("%s: %s: %q", text, path, said)
			}
			if remedy := f.Servers[0].Remedy(""); says == "" && !strings.HasSuffix(remedy, " out of "+switches) {
				t.Errorf("%s: %s: %q", text, path, remedy)
			}
		}
	}
}

// TestNeverAllow checks that what the person never allows Goose is forbidden here, and that a file of it that cannot be read is told.
func TestNeverAllow(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "goose")
	write := func(name, text string) {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("config.yaml", "extensions:\n  g: {type: stdio, cmd: c}\n  my_own: {type: stdio, cmd: c}\n  gh: {type: stdio, name: Git Hub.io, cmd: c}\n")
	for permissions, want := range map[string]string{
		"{}\n": "[] [] []",
		"user:\n  always_allow: [g__get]\n  ask_before: [g__put]\n  never_allow: [g__del_all, my_own__x, developer__shell, github_io__y, gh__z]\nsmart_approve:\n  never_allow: [g__a]\n": "[del_all] [x] [y]",
		"user: []\n":   "[] [] []",
		"user: {never": "unknown [] [] []",
	} {
		write("permission.yaml", permissions)
		f, err := Read(filepath.Join(folder, "config.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(f.Servers[0].DisabledTools, f.Servers[1].DisabledTools, f.Servers[2].DisabledTools)
		if len(f.Warnings) == 1 && strings.HasSuffix(f.Warnings[0], "what user.never_allow forbids is not known") {
			got = "unknown " + got
		}
		if got != want {
			t.Errorf("%q: %s, %q", permissions, got, f.Warnings)
		}
		if want == "[del_all] [x] [y]" && !strings.Contains(strings.Join(f.Notes, "\n"), "permission.yaml says: g__del_all") {
			t.Error(f.Notes)
		}
	}
}

// TestCursorDenies checks that what Cursor's CLI is forbidden is forbidden here: by its person, and by a project.
func TestCursorDenies(t *testing.T) {
	const all = "get del_all del_one get_x"
	for _, tt := range []struct{ file, deny, want, note string }{
		{"", "", all, ""},
		{"home/.cursor/cli-config.json", `"Mcp(x:del_all)"`, "get del_one get_x", "cli-config.json says: Mcp(x:del_all)"},
		{"home/.cursor/cli-config.json", `"Mcp(x:del_*)", "Shell(rm)", "Read(x:*)"`, "get get_x", ""},
		{"home/.cursor/cli-config.json", `"Mcp(x:del_???)"`, "get get_x", ""},
		{"home/.cursor/cli-config.json", `"Mcp(*:get)"`, "del_all del_one get_x", ""},
		{"home/.cursor/cli-config.json", `"Mcp(x:*)"`, "", ""},
		{"home/.cursor/cli-config.json", `"Mcp(**:**)"`, "", ""},
		{"home/.cursor/cli-config.json", `"Mcp(y:*)", "Mcp(xx:get)"`, all, "Mcp(y:*) is about no server that is read here"},
		{"home/.cursor/cli-config.json", `"Mcp(x)"`, all, "Mcp(x) is not understood"},
		{"home/.cursor/cli-config.json", `"mcp__x__get"`, all, ""},
		{"home/.cursor/cli-config.json", `"Mcp(x:get`, all, "unknown"},
		{"chosen/cli-config.json", `"Mcp(x:get)"`, "del_all del_one get_x", ""},
		{"shop/.cursor/cli.json", `"Mcp(x:get)"`, "del_all del_one get_x", ""},
	} {
		root := t.TempDir()
		write := func(name, text string) string {
			path := filepath.Join(root, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		t.Setenv("HOME", filepath.Join(root, "home"))
		t.Setenv("USERPROFILE", filepath.Join(root, "home"))
		t.Setenv("XDG_CONFIG_HOME", "")
		t.Setenv("CURSOR_CONFIG_DIR", filepath.Join(root, "chosen"))
		own := write("home/.cursor/mcp.json", `{"mcpServers": {"x": {"command": "c"}}}`)
		write("shop/.cursor/mcp.json", `{"mcpServers": {"x": {"command": "c"}}}`)
		t.Chdir(filepath.Join(root, "shop"))
		if tt.file != "" {
			write(tt.file, `{"version": 1, "permissions": {"allow": [], "deny": [`+tt.deny+`]}}`)
		}
		for _, path := range []string{own, filepath.Join(root, "shop", ".cursor", "mcp.json")} {
			f, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			got := slices.DeleteFunc(strings.Fields(all), func(tool string) bool { return !f.Servers[0].Permits(tool) })
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%s: %s: %s permits %v", tt.file, tt.deny, path, got)
			}
			if rule := strings.Trim(tt.deny, `"`); rule == "Mcp(x:del_all)" && !strings.HasPrefix(f.Servers[0].Remedy("del_all"), `take "`+rule+`" out of permissions.deny in `) {
				t.Errorf("the remedy is %q", f.Servers[0].Remedy("del_all"))
			}
			if tt.note == "unknown" {
				if len(f.Warnings) != 1 || !strings.HasSuffix(f.Warnings[0], "what permissions.deny forbids is not known") {
					t.Errorf("%s: %q", tt.deny, f.Warnings)
				}
			} else if !strings.Contains(strings.Join(f.Notes, "\n"), tt.note) || len(f.Warnings) > 0 {
				t.Errorf("%s: %q %q", tt.deny, f.Notes, f.Warnings)
			}
		}
		inProject := Discover(filepath.Join(root, "shop"))
		x := inProject.Servers[0]
		if permits := slices.Contains(strings.Fields(tt.want), "get"); len(inProject.Servers) != 1 || x.Permits("get") != permits {
			t.Errorf("%s: of the project: %v", tt.file, inProject.Servers)
		}
		if len(x.DisabledByFile()) > 0 != strings.HasPrefix(tt.file, "shop") {
			t.Errorf("%s: what is approved has %q", tt.file, x.DisabledByFile())
		}
	}
}

// What VS Code's settings turn off counts for the file of servers beside them.
func TestServersThatCodeHasOff(t *testing.T) {
	for text, remedy := range map[string]string{
		`{"editor.tabSize": 4}`:         "",
		`{"chat.mcp.access": "none"}`:   "change chat.mcp.access in ",
		`{"chat.mcp.enabled": false,}`:  "change chat.mcp.enabled in ",
		`{"chat.mcp.access": "registry`: "",
	} {
		user := filepath.Join(t.TempDir(), "Code", "User")
		write(t, filepath.Join(user, "settings.json"), text)
		write(t, filepath.Join(user, "mcp.json"), `{"servers": {"x": {"command": "y"}}}`)
		f, err := Read(filepath.Join(user, "mcp.json"))
		if err != nil {
			t.Fatal(err)
		}
		x := f.Servers[0]
		if x.Disabled != (remedy != "") || remedy != "" && x.Remedy("") != remedy+filepath.Join(user, "settings.json") {
			t.Errorf("%s: disabled %t, %q", text, x.Disabled, x.Remedy(""))
		}
		if unknown := len(f.Warnings) == 1 && strings.HasSuffix(f.Warnings[0], "whether VS Code has its servers off is not known"); unknown != !strings.HasSuffix(text, "}") {
			t.Errorf("%s: %q", text, f.Warnings)
		}
	}
}

// A hint names what the file has.
func TestRemedyNamesTheRule(t *testing.T) {
	f, err := Parse(".qwen/settings.json", []byte(`{"mcpServers": {"x": {"command": "y"}}, "permissions": {"deny": ["mcp__x"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := f.Servers[0].Remedy("*"); got != `take "mcp__x" out of permissions.deny in .qwen/settings.json` {
		t.Error(got)
	}
}
