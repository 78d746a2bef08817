package paste

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
)

// TestTextIsReadBack reads what each client is given as a file of that client.
func TestTextIsReadBack(t *testing.T) {
	named := map[string]string{"corp-crm": "corp-crm", "x.example": "x-example", "127.0.0.1": "127-0-0-1", "..A b_ü.": "A-b_", "ü": "wharf"}
	for name, want := range named {
		readBack(t, name, want)
	}
}

func readBack(t *testing.T, name, want string) {
	given := Server{Name: name, Command: "/opt/my tools/wharf", Args: []string{"bridge", `a "b" \ ü <&>`}}
	files := map[string]string{
		"claude": "claude_desktop_config.json", "codex": ".codex/config.toml", "cursor": ".cursor/mcp.json",
		"jetbrains": ".junie/mcp/mcp.json", "vscode": ".vscode/mcp.json", "zed": "zed/settings.json",
	}
	for _, c := range Clients {
		text, err := c.Text(given)
		if err != nil {
			t.Fatal(c.ID, err)
		}
		if c.ID == "acp" {
			var got acpServer
			if err := json.Unmarshal([]byte(text), &got); err != nil || got.Name != want || got.Command != given.Command || !slices.Equal(got.Args, given.Args) || got.Env == nil {
				t.Errorf("acp: %+v, %v\n%s", got, err, text)
			}
			continue
		}
		file, err := config.Parse(files[c.ID], []byte(text))
		if err != nil || len(file.Servers) != 1 || len(file.Warnings) > 0 {
			t.Errorf("%s: %+v, %v\n%s", c.ID, file, err, text)
			continue
		}
		got := file.Servers[0]
		if got.Name != want || got.Command != given.Command || !slices.Equal(got.Args, given.Args) {
			t.Errorf("%s: got %s: %q %q\n%s", c.ID, got.Name, got.Command, got.Args, text)
		}
	}
}
