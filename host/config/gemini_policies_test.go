package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Wharf forbids the tools that a policy denies to Gemini CLI, for the servers of a person and for those of a project.
func TestPoliciesOfGemini(t *testing.T) {
	const all = "get del_all del_one"
	rule := func(lines ...string) string { return "[[rule]]\n" + strings.Join(lines, "\n") + "\n" }
	deny := func(priority string, lines ...string) string {
		return rule(append(lines, `decision = "deny"`, "priority = "+priority)...)
	}
	allow := func(priority string, lines ...string) string {
		return rule(append(lines, `decision = "allow"`, "priority = "+priority)...)
	}
	const ofX, get = `mcpName = "x"`, `toolName = "get"`
	for _, tt := range []struct{ rules, want, note string }{
		{"", all, ""},
		{deny("100", ofX, get), "del_all del_one", "disabled_tools has what rule in "},
		{deny("100", ofX, `toolName = ["get", "del_*"]`), "", ""},
		{deny("100", ofX), "", ""},
		{deny("100", `mcpName = "*"`, get), "del_all del_one", ""},
		{deny("100", `toolName = "*"`), "", ""},
		{deny("100", `toolName = "mcp_*"`), "", ""},
		{deny("100", `toolName = "mcp_x_get"`), "del_all del_one", ""},
		{deny("100", `toolName = "mcp_x_*"`), "", ""},
		{deny("100", `toolName = "mcp_*_del_one"`), "get del_all", ""},
		{deny("100", `mcpName = "y"`), all, "rule: y:* is about no server that is read here"},
		{deny("100", get), all, ""}, // a tool of Gemini CLI itself
		{deny("10", ofX) + allow("200", ofX, get), "get", ""},
		{allow("200", ofX, get) + deny("10", ofX), "get", ""},
		{deny("300", ofX) + allow("200", ofX, get), "", ""},
		{deny("200", ofX) + allow("200", ofX, get), "", ""},
		{deny("10", ofX) + allow("200", ofX, get, `argsPattern = "a"`), "", ""},
		{deny("10", ofX) + rule(ofX, get, `decision = "ask_user"`, "priority = 20"), "get", ""},
		{deny("100", ofX, get, `argsPattern = "secret"`), all, "rule: x:get is by arguments or annotations, which wharf does not look at"},
		{deny("100", `mcpName = "*"`, "toolAnnotations = { destructiveHint = true }"), all, "rule: *:* is by arguments or annotations"},
		{deny("100", ofX, get, `modes = ["plan"]`), all, ""},
		{deny("100", ofX, get, `modes = ["plan", "default"]`), "del_all del_one", ""},
		{deny("100", ofX, get, `subagent = "s"`), all, ""},
		{deny("100", `commandPrefix = "rm"`, `toolName = "*"`), all, ""},
		{"rule = 3", all, ""},
		{"[[rule]\n", all, "what it denies Gemini CLI is not known"},
	} {
		for _, folder := range []string{"home", "shop"} {
			root := t.TempDir()
			home := filepath.Join(root, "home")
			t.Setenv("HOME", home)
			t.Setenv("USERPROFILE", home)
			t.Setenv("XDG_CONFIG_HOME", "")
			write(t, filepath.Join(root, folder, ".gemini", "policies", "p.toml"), tt.rules)
			own, project := filepath.Join(home, ".gemini", "settings.json"), filepath.Join(root, "shop", ".gemini", "settings.json")
			for _, path := range []string{own, project} {
				write(t, path, `{"mcpServers": {"x": {"command": "c"}}}`)
			}
			if err := os.Mkdir(filepath.Join(root, "shop", ".git"), 0o700); err != nil {
				t.Fatal(err)
			}
			t.Chdir(filepath.Join(root, "shop"))
			permitted := func(s *Server) string {
				return strings.Join(slices.DeleteFunc(strings.Fields(all), func(tool string) bool { return !s.Permits(tool) }), " ")
			}
			for _, path := range []string{own, project} {
				f, err := Read(path)
				if err != nil {
					t.Fatal(err)
				}
				if got := permitted(&f.Servers[0]); got != tt.want {
					t.Errorf("%s in %s: %s permits %q, want %q", tt.rules, folder, path, got, tt.want)
				}
				said := strings.Join(append(f.Notes, f.Warnings...), "\n")
				if !strings.Contains(said, tt.note) {
					t.Errorf("%s in %s: %q", tt.rules, folder, said)
				}
			}
			d := Discover(filepath.Join(root, "shop"))
			if len(d.Servers) != 1 || permitted(&d.Servers[0]) != tt.want {
				t.Errorf("%s in %s: the project has %s, which permits %q", tt.rules, folder, listed(d.Servers), permitted(&d.Servers[0]))
			}
		}
	}
}

// A person's policy goes before one of the project.
func TestPoliciesOfAPersonGoFirst(t *testing.T) {
	root := t.TempDir()
	home := filepath.Join(root, "home")
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	write(t, filepath.Join(root, "shop", ".gemini", "settings.json"), `{"mcpServers": {"x": {"command": "c"}}}`)
	write(t, filepath.Join(root, "shop", ".gemini", "policies", "p.toml"), "[[rule]]\nmcpName = 'x'\ntoolName = 'get'\ndecision = 'allow'\npriority = 999\n")
	write(t, filepath.Join(home, ".gemini", "policies", "p.toml"), "[[rule]]\nmcpName = 'x'\ndecision = 'deny'\npriority = 1\n")
	d := Discover(filepath.Join(root, "shop"))
	if len(d.Servers) != 1 || d.Servers[0].Permits("get") {
		t.Errorf("%s, %q", listed(d.Servers), d.Warnings)
	}
}

// Wharf forbids the tools that a person's permissions.yaml excludes from Continue's CLI. It passes over the names of that
// program's own tools.
func TestPermissionsOfContinue(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("CONTINUE_GLOBAL_DIR", "")
	write(t, filepath.Join(home, ".continue", "permissions.yaml"), "allow: [get]\nask: []\nexclude: [\"del_*\", \"one(*)\", \"two(x*)\", Bash, Write(**/*.ts)]\n")
	path := filepath.Join(home, ".continue", "config.yaml")
	write(t, path, "mcpServers:\n  - {name: x, command: c}\n")
	f, err := Read(path)
	if err != nil || !slices.Equal(f.Servers[0].DisabledTools, []string{"del_*", "one"}) || len(f.Notes) != 1 {
		t.Errorf("%v, %q, %v", f.Servers[0].DisabledTools, f.Notes, err)
	}
	shop := filepath.Join(home, "shop")
	write(t, filepath.Join(shop, ".continue", "mcpServers", "a.yaml"), "mcpServers:\n  - {name: x, command: c}\n")
	if d := Discover(shop); len(d.Servers) != 1 || d.Servers[0].Permits("one") || !d.Servers[0].Permits("two") {
		t.Errorf("of a project: %s, %q", listed(d.Servers), d.Warnings)
	}
}
