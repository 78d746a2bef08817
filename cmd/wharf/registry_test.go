package main

import (
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/registry"
	"github.com/wharf-mcp/wharf/internal/registrytest"
)

// published are descriptions of servers that a registry of the tests has.
const published = "../../internal/registrytest/testdata/servers"

// serveRegistry serves a copy of the descriptions in a folder: registry FOLDER. Its
// address is in $WHARF_REGISTRY, and that of one that lies in $LIES, before its kind.
func serveRegistry(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: registry FOLDER")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(copyDescriptions(dir))
	s := httptest.NewServer(registrytest.Handler(dir))
	ts.Defer(s.Close)
	ts.Setenv("WHARF_REGISTRY", s.URL)
	ts.Setenv("LIES", s.URL+"/lie")
	ts.Setenv("REGISTRY_HOST", strings.TrimPrefix(s.URL, "http://"))
}

// bundleServer publishes a bundle in the folder of a registry: bundle FOLDER VERSION. Its
// server is a script in it, which runs the demo server with a setting as an argument.
func bundleServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: bundle FOLDER VERSION")
	}
	ts.Check(registrytest.Bundle(ts.MkAbs(args[0]), ts.Getenv("WHARF_REGISTRY"), "bundled", args[1],
		registrytest.File{Name: "manifest.json", Text: `{"manifest_version": "0.3", "name": "bundled", "version": "` + args[1] + `",
			"server": {"type": "binary", "entry_point": "bin/run", "mcp_config": {
				"command": "${__dirname}/bin/run", "args": ["${user_config.folder}", "${HOME_}"], "env": {"KEY": "${user_config.key}"}}},
			"user_config": {
				"folder": {"type": "directory", "title": "Folder", "description": "Where it works", "required": true},
				"key": {"type": "string", "title": "Key", "description": "Of your account", "sensitive": true}}}`},
		registrytest.File{Name: "bin/run", Text: "#!/bin/sh\nexec wharf demo-server\n", Mode: 0o755}))
}

func copyDescriptions(dir string) error {
	files, err := filepath.Glob(filepath.Join(published, "*.json"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func TestLineChanges(t *testing.T) {
	got := lineChanges([]string{"a", "b", "c", "d"}, []string{"a", "c", "x", "d", "e"})
	if want := []string{"  a", "- b", "  c", "+ x", "  d", "+ e"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Names of entries are made of what is added.
func TestEntryNames(t *testing.T) {
	var r addRequest
	for want, argv := range map[string][]string{
		"server-filesystem": {"npx", "-y", "@modelcontextprotocol/server-filesystem@1.0.0", "/x"},
		"weather":           {"uvx", "weather"},
		"server":            {"/opt/my/server", "x"},
		"a-b":               {"/opt/a b"},
		"github-mcp-server": {"docker", "run", "-i", "--rm", "-e", "GITHUB_TOKEN", "ghcr.io/github/github-mcp-server:v1@sha256:00", "stdio"},
		"fetch":             {"podman", "run", "-it", "--init", "--name=x", "-v", "/a:/b", "-eA=b", "--network", "host", "localhost:5000/mcp/fetch"},
		"docker":            {"docker", "mcp", "gateway", "run"},
		"podman":            {"podman", "run", "-i", "--"},
		"odd":               {"python3", "-u", "/x/odd.py", "--port", "80"},
		"x":                 {"/usr/bin/node", "--no-warnings", "x.js"},
		"time":              {"deno", "run", "--allow-net", "./time.ts"},
		"mcp_server_time":   {"python3.12", "-m", "mcp_server_time", "y.py"},
		"mine":              {"python", "-um", "mine.server"},
		"python3":           {"python3", "-X", "dev", "x.py"}, // in doubt
		"node":              {"node", "--env-file", "a.js", "b.js"},
		"python":            {"python", "-c", "pass", "x.py"},
		"pypy":              {"pypy"},
		"bun":               {"bun", "start"},
		"ruby":              {"ruby", "/x/名前.rb"},
		"java":              {"java", "com.example.Main"},
		"bash":              {"bash", "-c", "./x.sh"},
		"my-srv":            {"node", "/x/my-srv/index.js"},
		"dist-srv":          {"node", "/x/dist-srv/dist/index.js"},
		"src_srv":           {"python3", "/x/src_srv/src/main.py"},
		"main-srv":          {"python3", "/x/main-srv/__main__.py"},
		"folder":            {"python3", "/x/folder"},
		"index":             {"node", "/index.js"},
		"behind-env":        {"env", "-u", "B", "A=1", "python3", "/x/behind-env.py"},
		"native":            {"/usr/bin/env", "A=1", "/opt/native", "--port", "1"},
		"image":             {"sudo", "-n", "docker", "run", "--rm", "reg.example/a/image:1"},
		"uv-script":         {"uv", "run", "--with", "mcp", "uv-script.py"},
		"forecast":          {"uv", "--directory", "/x/forecast", "run", "server.py"},
		"tool":              {"uv", "run", "--project=/x", "tool", "--verbose"},
		"module":            {"uv", "run", "-m", "module.server"},
		"sdk":               {"uv", "run", "--with", "mcp[cli]", "mcp", "run", "/x/sdk/server.py"},
		"uv":                {"uv", "sync"},
		"from":              {"uvx", "--from", "git+https://h.example/a/b", "from"},
		"repository":        {"uvx", "git+https://h.example/a/repository.git@main"},
		"extra":             {"uvx", "extra[cli]==1.2"},
		"dlx":               {"pnpm", "dlx", "@scope/dlx@1.0"},
		"playwright":        {"npx", "-y", "@playwright/mcp@latest"},
		"typed":             {"npx", "-y", "tsx", "/x/typed/src/index.ts"},
		"poem":              {"poetry", "-C", "/x", "run", "poem"},
		"poet":              {"poetry", "run", "python", "-m", "poet"},
		"bunny":             {"bun", "run", "bunny.ts"},
		"remote":            {"deno", "run", "-A", "npm:@a/remote@1"},
		"dotnet-package":    {"dnx", "-v", "q", "dotnet-package@1.0", "--yes"},
		"archive":           {"java", "-jar", "archive.jar"},
		"gopher":            {"go", "run", "-race", "./cmd/gopher", "--verbose"},
		"gofer":             {"go", "run", "-tags", "x", "m.example/a/gofer@latest"},
		"goat":              {"go", "run", "-C", "/x/goat", "."},
		"go":                {"go", "build"},
	} {
		if got := r.named(commandName(argv)); got != want {
			t.Errorf("%q: %s, want %s", argv, got, want)
		}
	}
	for host, want := range map[string]string{"mcp.context7.com": "context7", "example.com": "example", "localhost": "localhost", "mcp": "mcp", "127.0.0.1": "localhost", "::1": "localhost", "10.0.0.5": "10-0-0-5", "fd00::5": "fd00--5"} {
		if got := siteName(host); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}

// Of several packages the one is taken whose program is there, and a package goes before
// a remote even if its program is not.
func TestChooseOption(t *testing.T) {
	bin := t.TempDir()
	name := "docker"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if err := os.WriteFile(filepath.Join(bin, name), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	s := &registry.Server{
		Packages: []registry.Package{
			{RegistryType: "mcpb", Identifier: "https://x.example/x.mcpb", FileSHA256: strings.Repeat("0", 64)},
			{RegistryType: "npm", Identifier: "x", Version: "1.0.0"},
			{RegistryType: "oci", Identifier: "a/x:1.0.0"},
		},
		Remotes: []registry.Remote{{Type: "streamable-http", URL: "https://x.example/mcp"}},
	}
	for _, tc := range []struct{ path, prefer, want string }{
		{bin, "", "oci"}, {t.TempDir(), "", "npm"}, {bin, "npm", "npm"}, {bin, "remote", "http"}, {bin, "http", "http"}, {bin, "mcpb", "mcpb"},
	} {
		t.Setenv("PATH", tc.path)
		if o, err := choose(s, tc.prefer); err != nil || o.Kind != tc.want {
			t.Errorf("prefer %q: %+v, %v; want %s", tc.prefer, o, err, tc.want)
		}
	}
	if _, err := choose(s, "pypi"); err == nil || exit.HintOf(err) != "the registry has it as npm, oci, mcpb, http" {
		t.Errorf("%v", err)
	}
}

// A registry has as long to answer as a server.
func TestRegistryTimeout(t *testing.T) {
	t.Setenv(timeoutEnv, "1500")
	a := &app{Terminal: &term.Terminal{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}}
	c, err := a.registryAt("")
	if err != nil || c.Timeout != 1500*time.Millisecond {
		t.Errorf("by the environment: %v, %v", c.Timeout, err)
	}
	c.Close()
	if err := a.flags.timeout.Set("0"); err != nil {
		t.Fatal(err)
	}
	c, err = a.registryAt("")
	if err != nil || c.Timeout >= 0 {
		t.Errorf("without a limit: %v, %v", c.Timeout, err)
	}
	c.Close()
}
