package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
)

// described returns the facts of an entry, in lines, and the warnings about it.
func described(t *testing.T, s config.Server, plugins map[string]config.Plugin) (facts, warnings []string) {
	t.Helper()
	var a Approval
	if err := a.describe(s, plugins, questionBudget(t.Context())); err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Facts {
		line := f.Name + ": " + strings.Join(f.Values, ", ")
		if f.Hidden {
			line = f.Name + " is hidden"
		}
		facts = append(facts, line)
	}
	return facts, a.Warnings
}

// What an approval of a remote server depends on.
func TestFactsOfARemoteServer(t *testing.T) {
	project := &config.Project{Folder: repo(t), File: ".mcp.json"}
	plugins := map[string]config.Plugin{"http": {File: "/opt/http.wasm", SHA256: "ab"}, "other": {File: "/opt/other.wasm"}, "oauth": {}}
	facts, warnings := described(t, config.Server{
		Name: "far", Project: project, Transport: "http", URL: "https://a.example/${B}", Strategy: "http-only", Headers: map[string]string{"X-Key": "${A}", "X-B": "b"},
		Auth:     config.Auth{Provider: "oauth", Settings: map[string]any{"client_id": "me", "scopes": []string{"r", "w"}, "client_secret": "x"}},
		Protocol: "auto", Settings: map[string]string{"speed": "1"},
	}, plugins)
	want := []string{
		"grants: reach the url", "transport: http", "plugin http: /opt/http.wasm, sha256:ab", "url: https://a.example/${B}", "strategy: http-only",
		"headers: X-B, X-Key", "header X-B is hidden", "header X-Key is hidden", "variables: A, B", "sign-in: oauth",
		"sign-in client_id: me", "sign-in scopes: r, w", "sign-in client_secret is hidden", "settings: speed", "setting speed is hidden", "options: protocol=auto",
	}
	if !slices.Equal(facts, want) || !slices.Equal(warnings, []string{"the values of A, B are sent there"}) {
		t.Errorf("%q with %q", facts, warnings)
	}
	facts, warnings = described(t, config.Server{Name: "near", Project: project, Transport: "http", URL: "http://a.example/", Auth: config.Auth{
		Settings: map[string]any{"audience": []string{"a"}, "client_id": []string{"b"}, "scopes": "r"}, // of the wrong types
	}}, nil)
	want = []string{
		"grants: reach the url", "transport: http", "url: http://a.example/",
		"sign-in audience is hidden", "sign-in client_id is hidden", "sign-in scopes is hidden",
	}
	if !slices.Equal(facts, want) {
		t.Errorf("%q", facts)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "http is not encrypted") {
		t.Errorf("%q", warnings)
	}
}

// The wire of a remote server may be open to others, and a warning names few variables.
func TestWarningsOfARemoteServer(t *testing.T) {
	project := &config.Project{Folder: repo(t), File: ".mcp.json"}
	for url, want := range map[string]bool{"http://a": true, "ws://a": true, "https://a": false, "wss://a": false, "unix:///a#/": false} {
		if _, warnings := described(t, config.Server{Project: project, URL: url}, nil); len(warnings) == 1 != want {
			t.Errorf("%s: %q", url, warnings)
		}
	}
	headers := make(map[string]string)
	for n, want := range []string{
		0: "", 1: "the values of A0 are sent there", 10: "the values of A0, A1, A2, A3, A4, A5, A6, A7, A8, A9 are sent there",
		11: "the values of A0, A1, A2, A3, A4, A5, A6, A7, A8, A9 and 1 more variables are sent there",
	} {
		if n > 0 {
			headers[fmt.Sprint("X-", n)] = fmt.Sprintf("${%c%d}", 'A'+n/11, (n-1)%10)
		}
		if want == "" && n > 0 {
			continue
		}
		_, warnings := described(t, config.Server{Project: project, URL: "https://a", Headers: headers}, nil)
		if got := strings.Join(warnings, "; "); got != want {
			t.Errorf("%d variables: %s", n, got)
		}
	}
}

// What an approval of a process depends on: the program itself where a link leads to it,
// and the files that it names.
func TestFactsOfAProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs links")
	}
	dir, bin := repo(t, "server.js"), repo(t, "real")
	if err := os.Symlink("real", filepath.Join(bin, "node")); err != nil {
		t.Fatal(err)
	}
	s := config.Server{
		Name: "files", Project: &config.Project{Folder: dir, File: ".mcp.json"}, Dir: dir, Framing: "ndjson", Transport: "stdio",
		Args: []string{"${NO_SUCH_VARIABLE:-server.js}", "${NO_SUCH_VARIABLE}"}, Env: map[string]string{"B": "b", "A": "a"},
	}
	for command, which := range map[string]string{"real": "", "node": "which is: " + filepath.Join(bin, "real")} {
		s.Command = filepath.Join(bin, command)
		facts, warnings := described(t, s, nil)
		want := []string{
			"grants: run the command, with all that you may do yourself", "transport: stdio", "command: " + s.Command, which,
			"arguments: ${NO_SUCH_VARIABLE:-server.js}, ${NO_SUCH_VARIABLE}", "folder: " + dir, "environment: A, B", "environment A is hidden", "environment B is hidden",
			"files: server.js", "contents of server.js is hidden", "variables: NO_SUCH_VARIABLE", "options: framing=ndjson",
		}
		if want = slices.DeleteFunc(want, func(line string) bool { return line == "" }); !slices.Equal(facts, want) {
			t.Errorf("%s: %q", command, facts)
		}
		compared := func(w string) bool { return strings.Contains(w, "those named here are compared each time") }
		if !slices.ContainsFunc(warnings, compared) {
			t.Errorf("%s: %q", command, warnings)
		}
		s2 := s
		s2.Args = nil
		if _, warnings := described(t, s2, nil); slices.ContainsFunc(warnings, compared) {
			t.Errorf("%s without files: %q", command, warnings)
		}
	}
}

func TestGrants(t *testing.T) {
	for want, s := range map[string]config.Server{
		"run the command, with all that you may do yourself": {Command: "x"},
		"reach a socket of this machine":                     {URL: "unix:///x#/"},
		"reach the url":                                      {URL: "https://x"},
		"reach the address":                                  {Address: "tcp:x:1"},
		"use the plugin":                                     {},
	} {
		if got := grantOf(s); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// The content of an env_file is pinned, and its variables are warned of as those of the
// entry are.
func TestFactsOfAnEnvFile(t *testing.T) {
	dir := repo(t)
	path := filepath.Join(dir, ".env")
	s := config.Server{Name: "near", Project: &config.Project{Folder: dir, File: ".vscode/mcp.json"}, Dir: dir, Command: "/bin/sh", Env: map[string]string{"A": "a"}, EnvFile: path}
	hashOf := func(text string) (string, []string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		facts, warnings := described(t, s, nil)
		for _, want := range []string{"env_file: " + path, "files: .env", "contents of .env is hidden"} {
			if !slices.Contains(facts, want) {
				t.Errorf("%q lacks %q", facts, want)
			}
		}
		var a Approval
		if err := a.describe(s, nil, questionBudget(t.Context())); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(a.Facts), append(warnings, facts...)
	}
	before, _ := hashOf("B=b\n")
	after, said := hashOf("B=c\nLD_PRELOAD=./evil.so\n")
	if before == after {
		t.Error("another content is no change")
	}
	if !slices.Contains(said, "environment: A, B, LD_PRELOAD") || !strings.Contains(strings.Join(said, "\n"), "LD_PRELOAD") || !slices.ContainsFunc(said, func(w string) bool {
		return strings.Contains(w, "LD_PRELOAD") && !strings.HasPrefix(w, "environment: ")
	}) {
		t.Errorf("%q", said)
	}
	for text, want := range map[string]string{"B": "expected NAME=value", strings.Repeat("#", maxEnvFile+1): "is no file of at most 64 KiB"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var a Approval
		if err := a.describe(s, nil, questionBudget(t.Context())); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/hostname", path); err != nil {
		t.Skip(err)
	}
	var a Approval
	if err := a.describe(s, nil, questionBudget(t.Context())); err == nil {
		t.Error("a link that leads out of the project was read")
	}
}

// The variables of an env_file are those of the content that is pinned: a file that is
// swapped after the look, or during it, brings in nothing.
func TestEnvFileIsReadOnce(t *testing.T) {
	dir := repo(t)
	path := filepath.Join(dir, ".env")
	s := config.Server{Name: "near", Project: &config.Project{Folder: dir, File: ".vscode/mcp.json"}, Dir: dir, Command: "/bin/sh", Args: []string{".env"}, EnvFile: path}
	b := questionBudget(t.Context())
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("B=other\n")
	if err := new(Approval).describe(s, nil, b); err != nil { // fills what the budget knows
		t.Fatal(err)
	}
	write("B=b\n")
	var a Approval
	if err := a.describe(s, nil, b); err != nil {
		t.Fatal(err)
	}
	write("LD_PRELOAD=./evil.so\n")
	if len(a.FileEnv) != 1 || a.FileEnv["B"] != "b" {
		t.Errorf("variables %q", a.FileEnv)
	}
	at := slices.IndexFunc(a.Facts, func(f Fact) bool { return f.Name == "contents of .env" })
	if at < 0 || a.Facts[at].Values[0] != digestOf(digestOf("B=b\n")) {
		t.Errorf("facts %+v", a.Facts)
	}
}

// Which tools may be called is part of what is approved: a project that asks for fewer
// cannot have more of them later.
func TestFactsOfTools(t *testing.T) {
	s := config.Server{Name: "far", Project: &config.Project{Folder: repo(t), File: ".mcp.json"}, URL: "https://a.example"}
	none, _ := described(t, s, nil)
	s.EnabledTools, s.DisabledTools = []string{"read", "list"}, []string{"rm"}
	facts, _ := described(t, s, nil)
	if want := append(none, "enabled tools: read, list", "disabled tools: rm"); !slices.Equal(facts, want) {
		t.Errorf("%q, want %q", facts, want)
	}
	s.EnabledTools = []string{} // which permits none, unlike nil
	if facts, _ := described(t, s, nil); !slices.Contains(facts, "tools: none is enabled") {
		t.Errorf("%q", facts)
	}
}
