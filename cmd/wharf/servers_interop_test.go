package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
)

// popular are servers that many people use, each with its script below node_modules and
// what it wants before it lists its tools. None of the values leads anywhere.
var popular = []struct {
	name, script string
	args, env    []string
}{
	{name: "sequential-thinking", script: "@modelcontextprotocol/server-sequential-thinking/dist/index.js"},
	{name: "playwright", script: "@playwright/mcp/cli.js"},
	{name: "context7", script: "@upstash/context7-mcp/dist/index.js"},
	{name: "notion", script: "@notionhq/notion-mcp-server/bin/cli.mjs", env: []string{"NOTION_TOKEN=ntn_none"}},
	{name: "mongodb", script: "mongodb-mcp-server/dist/esm/index.js", env: []string{"MDB_MCP_TELEMETRY=disabled"}},
	{name: "firecrawl", script: "firecrawl-mcp/dist/index.js", env: []string{"FIRECRAWL_API_KEY=none"}},
	{name: "chrome-devtools", script: "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js", args: []string{"--no-usage-statistics"}},
	{name: "sentry", script: "@sentry/mcp-server/dist/index.js", args: []string{"--access-token=none"}},
	{name: "figma", script: "figma-developer-mcp/dist/bin.js", args: []string{"--stdio", "--figma-api-key=none"}},
	{name: "tavily", script: "tavily-mcp/build/index.js", env: []string{"TAVILY_API_KEY=none"}},
	{name: "desktop-commander", script: "@wonderwhy-er/desktop-commander/dist/index.js", args: []string{"--no-onboarding"}},
	{name: "kubernetes", script: "mcp-server-kubernetes/dist/index.js"},
}

// TestPopularServers lists the tools of servers as Wharf and as the official TypeScript SDK
// do, and wants the same. They are started without a network, where the machine can take it
// away. `make servers` installs them and runs this test.
func TestPopularServers(t *testing.T) {
	dir := os.Getenv("WHARF_SERVERS")
	if dir == "" {
		t.Skip("WHARF_SERVERS names no folder with servers: see make servers")
	}
	list, err := filepath.Abs(filepath.Join("testdata", "interop", "list.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range popular {
		t.Run(s.name, func(t *testing.T) {
			home := t.TempDir() // some servers keep settings there
			server := append([]string{node, filepath.Join(dir, "node_modules", filepath.FromSlash(s.script))}, s.args...)
			env := append([]string{"HOME=" + home}, s.env...)
			sdk := output(t, dir, env, append([]string{node, list}, server...))
			argv := []string{"wharf", "tools", "--json", "--timeout", "60s"}
			for _, variable := range env {
				argv = append(argv, "-e", variable)
			}
			ours := output(t, dir, nil, append(append(argv, "--"), server...))
			var want, got []map[string]any
			if err := json.Unmarshal(sdk, &want); err != nil {
				t.Fatalf("the SDK: %v: %s", err, sdk)
			}
			if err := json.Unmarshal(ours, &got); err != nil {
				t.Fatalf("wharf: %v: %s", err, ours)
			}
			if len(want) == 0 {
				t.Fatal("the server lists no tools")
			}
			if !reflect.DeepEqual(toolNames(got), toolNames(want)) {
				t.Fatalf("wharf lists %q, the SDK %q", toolNames(got), toolNames(want))
			}
			for i := range want {
				for _, member := range []string{"description", "inputSchema", "outputSchema"} {
					if !reflect.DeepEqual(got[i][member], want[i][member]) {
						t.Errorf("%s: %s is %v, and of the SDK %v", want[i]["name"], member, got[i][member], want[i][member])
					}
				}
				// The SDK leaves out the hints that it does not know.
				hints, _ := want[i]["annotations"].(map[string]any)
				for hint, value := range hints {
					if got, _ := got[i]["annotations"].(map[string]any); !reflect.DeepEqual(got[hint], value) {
						t.Errorf("%s: hint %s is %v, and of the SDK %v", want[i]["name"], hint, got[hint], value)
					}
				}
			}
			t.Logf("%d tools", len(want))
		})
	}
}

func toolNames(tools []map[string]any) (names []string) {
	for _, tool := range tools {
		names = append(names, fmt.Sprint(tool["name"]))
	}
	return names
}

// output runs a command in a folder and returns what it prints. It has no network where
// the user may make a namespace without one.
func output(t *testing.T, dir string, env, argv []string) []byte {
	t.Helper()
	if exec.Command("unshare", "--map-root-user", "--net", "true").Run() == nil {
		argv = append([]string{"unshare", "--map-root-user", "--net"}, argv...)
	}
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "XDG_CONFIG_HOME="+t.TempDir()), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, stderr.Bytes())
	}
	return out
}
