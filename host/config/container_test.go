package config

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
)

// A variable that docker run takes from its own environment is one of the entry, and only where a flag before the
// image names it.
func TestContainerVariables(t *testing.T) {
	t.Setenv("UNSET", "")
	_ = os.Unsetenv("UNSET")
	const args = `["run", "-i", "--rm", "-e", "AA", "--env", "BB", "--env=CC", "-eDD", "-e", "KEY=v", "-e", "GIVEN", "-v", "-e", "-e", "UNSET", "a/b:1", "-e", "LATER"]`
	for _, path := range []string{"claude_desktop_config.json", ".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"} {
		for command, contained := range map[string]bool{"docker": true, "/usr/bin/podman": true, "npx": false} {
			entry := fmt.Sprintf(`{"command": %q, "args": %s, "env": {"GIVEN": "g"}}`, command, args)
			want := map[string]string{"GIVEN": "g"}
			if contained {
				want = map[string]string{"GIVEN": "g", "AA": "a", "BB": "b", "CC": "c", "DD": "d"}
			}
			f, wrong := Parse(path, fmt.Appendf(nil, dollarFiles[path], entry))
			if wrong != nil {
				t.Fatal(wrong)
			}
			if told := strings.Contains(strings.Join(f.Notes, "\n"), "takes the variable UNSET from the environment, and it is not set"); told != contained {
				t.Errorf("%s: %s: notes %q", path, command, f.Notes)
			}
			if s, err := f.Servers[0].Expand(func(name string) (string, bool) {
				return strings.ToLower(name[:1]), name != "UNSET"
			}); err != nil || !maps.Equal(s.Env, want) {
				t.Errorf("%s: %s: %v, %v", path, command, s.Env, err)
			}
		}
	}
	f, err := Parse(".mcp.json", []byte(`{"mcpServers": {"x": {"command": "docker", "args": ["run", "-e", "AA", "a/b"]}}}`))
	if err != nil || f.Servers[0].Env["AA"] != "${AA}" {
		t.Errorf("without env: %+v, %v", f, err)
	}
}
