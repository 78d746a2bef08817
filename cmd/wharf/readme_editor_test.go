package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/paste"
	"github.com/wharf-mcp/wharf/host/config"
)

// printedConfig finds the lines of the README that print what a client starts.
var printedConfig = regexp.MustCompile(`(?m)^wharf (.*)--print-config=\w+(.*)$`)

// TestReadmeInAnEditor goes the road of the README into an editor. What is printed for each client is read
// as a file of that client. The command in it is started in a folder and with variables that a terminal
// does not have, and a client of the official SDK lists the tools behind it and calls one.
func TestReadmeInAnEditor(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := printedConfig.FindAllStringSubmatch(string(page), -1)
	if len(lines) != 2 {
		t.Fatalf("the README has %d lines that print a configuration, want one of bridge and one of serve", len(lines))
	}
	files := map[string]string{
		"claude": "claude_desktop_config.json", "codex": ".codex/config.toml", "cursor": ".cursor/mcp.json",
		"jetbrains": ".junie/mcp/mcp.json", "vscode": ".vscode/mcp.json", "zed": "zed/settings.json",
	}
	for _, client := range paste.Clients {
		if named := regexp.MustCompile(`(?s)What to paste is printed for [^:]*\b` + client.ID + `\b`); !named.Match(page) {
			t.Errorf("the README does not name %s", client.ID)
		}
		for _, line := range lines {
			words := strings.Fields(line[1] + " --print-config=" + client.ID + line[2])
			t.Run(strings.Join(words, " "), func(t *testing.T) {
				printed, err := exec.CommandContext(t.Context(), "wharf", words...).Output()
				if err != nil {
					t.Fatal(err)
				}
				command, args := startedBy(t, files[client.ID], printed)
				addNumbers(t, command, args)
			})
		}
	}
}

// startedBy returns the command that a client starts, according to a file of its configuration; "" is the
// element of an ACP agent.
func startedBy(t *testing.T, file string, text []byte) (command string, args []string) {
	t.Helper()
	if file == "" {
		var server struct {
			Command string
			Args    []string
		}
		if err := json.Unmarshal(text, &server); err != nil {
			t.Fatal(err)
		}
		return server.Command, server.Args
	}
	read, err := config.Parse(file, text)
	if err != nil || len(read.Servers) != 1 {
		t.Fatalf("%+v, %v", read, err)
	}
	return read.Servers[0].Command, read.Servers[0].Args
}

// addNumbers starts a command as an editor does, and has the tool of the demo server add two numbers.
func addNumbers(t *testing.T, command string, args []string) {
	t.Helper()
	cmd := exec.Command(command, args...)
	cmd.Dir = string(filepath.Separator)
	cmd.Env = []string{"HOME=" + t.TempDir(), "XDG_CACHE_HOME=" + os.Getenv("XDG_CACHE_HOME"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "editor", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list.Tools {
		if strings.TrimPrefix(tool.Name, "demo__") != "add" {
			continue
		}
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: map[string]any{"a": 1, "b": 2}})
		if text, _ := json.Marshal(result); err != nil || !strings.Contains(string(text), `"sum":3`) {
			t.Errorf("%s: %s, %v", tool.Name, text, err)
		}
		return
	}
	t.Errorf("no tool adds numbers: %+v", list.Tools)
}
