package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A user's own file of a client is of no workspace: an entry that means the folder of one
// is left out, whether the file is imported or named. Else it would be the code of whatever
// folder one stands in later.
func TestEntriesOfNoWorkspace(t *testing.T) {
	home, clone := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Chdir(clone)
	path := filepath.Join(home, ".cursor", "mcp.json")
	stays := map[string]string{
		"plain":   `{"command": "npx", "args": ["-y", "pkg@1.0", "a/b", "--x=..."], "env": {"A": ".5"}}`,
		"home":    `{"command": "~/run", "args": ["${userHome}/x"], "envFile": "~/.env"}`,
		"dir":     `{"command": "./run", "args": ["./x"], "cwd": "` + filepath.ToSlash(home) + `", "envFile": "` + filepath.ToSlash(home) + `/.env"}`,
		"escaped": `{"command": "x", "args": ["$${workspaceFolder}"]}`,
		"far":     `{"url": "https://a.example/./x"}`,
	}
	leaves := map[string]string{
		"command":  `{"command": "./run"}`,
		"below":    `{"command": "bin/run"}`,
		"word":     `{"command": "${workspaceFolder}/run"}`,
		"env_file": `{"command": "x", "envFile": ".env"}`,
		"dir":      `{"command": "x", "cwd": "sub"}`,
		"dirword":  `{"command": "x", "cwd": "${workspaceFolder}"}`,
		"args":     `{"command": "node", "args": ["./server.js"]}`,
		"here":     `{"command": "node", "args": ["."]}`,
		"argword":  `{"command": "node", "args": ["-r", "${workspaceFolder}/x.js"]}`,
		"flag":     `{"command": "uv", "args": ["--directory=../x"]}`,
		"env":      `{"command": "x", "env": {"PYTHONPATH": "${workspaceFolder}"}}`,
		"envpath":  `{"command": "x", "env": {"PYTHONPATH": "./lib:/x"}}`,
		"pwd":      `{"command": "x", "args": ["${env:PWD}/x"]}`,
		"header":   `{"url": "https://a.example", "headers": {"X": "${workspaceFolderBasename}"}}`,
	}
	read := map[string]func() (*File, error){
		"imported": func() (*File, error) {
			all, err := FindClients(clone, "cursor")
			if err != nil || len(all) != 1 {
				t.Fatalf("%+v, %v", all, err)
			}
			return all[0].File, all[0].Err
		},
		"named":          func() (*File, error) { return Read(path) },
		"named by a way": func() (*File, error) { return Read(filepath.Join(clone, "link.json")) },
	}
	if err := os.Symlink(path, filepath.Join(clone, "link.json")); err != nil {
		delete(read, "named by a way")
	}
	for how, do := range read {
		for name, entry := range stays {
			write(t, path, `{"mcpServers": {"a": `+entry+`}}`)
			if f, err := do(); err != nil || len(f.Servers) != 1 || len(f.Warnings) > 0 || name == "home" && f.Servers[0].EnvFile != filepath.Join(home, ".env") {
				t.Errorf("%s, %s: %+v, %v", how, name, f, err)
			}
		}
		for name, entry := range leaves {
			write(t, path, `{"mcpServers": {"a": `+entry+`}}`)
			f, err := do()
			if err != nil || len(f.Servers) > 0 || len(f.Warnings) == 0 || !strings.Contains(f.Warnings[0], "means a folder of a workspace") || !strings.Contains(f.Warnings[0], "this server is left out") {
				t.Errorf("%s, %s: %+v, %v", how, name, f, err)
			}
		}
	}
}

// In a file of no project and of no client's own place, relative paths count from its folder.
func TestPathsCountFromTheFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(t.TempDir())
	path := filepath.Join(dir, "mine.json")
	write(t, path, `{"mcpServers": {"a": {"command": "./run", "args": ["${workspaceFolder}"], "envFile": ".env"}}}`)
	f, err := Read(path)
	if err != nil || len(f.Servers) != 1 {
		t.Fatalf("%+v, %v", f, err)
	}
	if s := f.Servers[0]; s.Command != filepath.Join(dir, "run") || s.Args[0] != dir || s.EnvFile != filepath.Join(dir, ".env") {
		t.Errorf("%+v", s)
	}
}
