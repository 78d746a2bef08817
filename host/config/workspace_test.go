package config

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
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
		"plain": `{"command": "npx", "args": ["-y", "pkg@1.0", "a/b", "--x=..."], "env": {"A": ".5"}}`,
		"home":  `{"command": "~/run", "args": ["${userHome}/x"], "envFile": "~/.env"}`,
		"dir":   `{"command": "./run", "args": ["./x"], "cwd": "` + filepath.ToSlash(home) + `", "envFile": "` + filepath.ToSlash(home) + `/.env"}`,
		"far":   `{"url": "https://a.example/./x"}`,
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
		"dollar":   `{"command": "x", "args": ["$${workspaceFolder}"]}`,
		"argword":  `{"command": "node", "args": ["-r", "${workspaceFolder}/x.js"]}`,
		"flag":     `{"command": "uv", "args": ["--directory=../x"]}`,
		"env":      `{"command": "x", "env": {"PYTHONPATH": "${workspaceFolder}"}}`,
		"envpath":  `{"command": "x", "env": {"PYTHONPATH": "./lib:/x"}}`,
		"pwd":      `{"command": "x", "args": ["${env:PWD}/x"]}`,
		"header":   `{"url": "https://a.example", "headers": {"X": "${workspaceFolderBasename}"}}`,
		"line":     `{"command": "python3 srv/x.py"}`,
		"user":     `{"url": "https://u:p@a.example/mcp"}`,
		"token":    `{"serverUrl": "https://${env:T}@a.example/mcp"}`,
	}
	says := map[string]string{ // where it is about no workspace
		"line":  `command: holds arguments too; write the command and its arguments apart: the command is "python3"`,
		"user":  "url: holds a user or a password; write an entry of your own without them",
		"token": "serverUrl: holds a user or a password; write an entry of your own without them",
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
			if err != nil || len(f.Servers) > 0 || len(f.Warnings) == 0 || !strings.Contains(f.Warnings[0], cmp.Or(says[name], "means a folder of a workspace")) || !strings.Contains(f.Warnings[0], "this server is left out") {
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

// TestSecretFilesCountFromTheFile holds the same of files that hold secrets or certificates,
// also in a user's own file of a client.
func TestSecretFilesCountFromTheFile(t *testing.T) {
	home := filepath.Join(t.TempDir(), "a$b")
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Chdir(t.TempDir())
	abs := filepath.ToSlash(t.TempDir())
	entry := `"type": "remote", "url": "https://a.example", "headers": {"A": "Bearer {file:./k}", "B": "$${file:k}", "C": "{file:~/k}", "D": "{file:` + abs + `/k}"}`
	opencode := filepath.Join(home, ".config", "opencode", "opencode.json")
	named := filepath.Join(home, "elsewhere", "opencode.json")
	own := filepath.Join(home, "own", "wharf.toml")
	write(t, opencode, `{"mcp": {"a": {`+entry+`}}}`)
	write(t, named, `{"mcp": {"a": {`+entry+`}}}`)
	write(t, own, `
[servers.a]
url = "https://a.example"
headers = { A = "Bearer ${file:./k}", B = "$${file:k}", C = "${file:~/k}", D = "${file:`+abs+`/k}" }
tls = { ca = "ca.pem", cert = "`+abs+`/cert.pem", key = "${HOME}/key.pem" }
auth = { provider = "bearer", token = { file = "token" } }
`)
	for _, path := range []string{opencode, named, own} {
		f, err := Read(path)
		if err != nil || len(f.Servers) != 1 {
			t.Fatalf("%s: %+v, %v", path, f, err)
		}
		s, err := f.Servers[0].Expand(os.LookupEnv)
		if err != nil {
			t.Fatal(err)
		}
		folder := filepath.Dir(path)
		want := []Reference{{File: abs + "/k"}, {File: filepath.Join(folder, "k")}, {File: filepath.Join(home, "k")}}
		got := s.Secrets()
		for _, w := range want {
			if !slices.Contains(got, w) || len(got) != len(want) {
				t.Errorf("%s: secrets %v, want %v", path, got, want)
			}
		}
		if path == own {
			want := TLS{CA: filepath.Join(folder, "ca.pem"), Cert: abs + "/cert.pem", Key: home + "/key.pem"}
			if token := s.Auth.Settings["token"]; s.TLS != want || token != (Reference{File: filepath.Join(folder, "token")}) {
				t.Errorf("%+v, %v", s.TLS, token)
			}
		}
	}
}

// TestPathsOfOwnFile holds the same of a file of our own, where dir goes before the folder,
// and arguments stay as they are.
func TestPathsOfOwnFile(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a$b")
	t.Chdir(t.TempDir())
	path := filepath.Join(folder, "wharf.toml")
	write(t, path, `
[servers.a]
command = "./run"
args = ["./x", "server.js"]
env_file = ".env"
[servers.b]
command = "bin/run"
dir = "sub"
env_file = ".env"
[servers.c]
command = "../run"
dir = "${HOME}/notes"
[servers.d]
command = "run"
sampler = ["./model", "./x"]
auth = { provider = "helper", command = ["bin/token"], variables = ["TOKEN"] }
`)
	f, err := Read(path)
	if err != nil || len(f.Notes) > 0 {
		t.Fatalf("%+v, %v", f, err)
	}
	for i, want := range []Server{
		{Command: filepath.Join(folder, "run"), EnvFile: filepath.Join(folder, ".env")},
		{Command: filepath.Join(folder, "sub", "bin", "run"), Dir: filepath.Join(folder, "sub"), EnvFile: filepath.Join(folder, ".env")},
		{Command: filepath.Join("/home/me", "run"), Dir: filepath.FromSlash("/home/me/notes")},
		{Command: "run"},
	} {
		s, err := f.Servers[i].Expand(func(string) (string, bool) { return "/home/me", true })
		if err != nil || s.Command != want.Command || filepath.FromSlash(s.Dir) != want.Dir || want.EnvFile != "" && s.EnvPath() != want.EnvFile {
			t.Errorf("%s: %q in %q with %q, %v", s.Name, s.Command, s.Dir, s.EnvPath(), err)
		}
		if i == 3 && (s.Sampler[0] != filepath.Join(folder, "model") || s.Sampler[1] != "./x" || s.Auth.Command[0] != filepath.Join(folder, "bin", "token")) {
			t.Errorf("sampler %q, auth.command %q", s.Sampler, s.Auth.Command)
		}
		if i == 0 && (s.Args[0] != "./x" || s.Args[1] != "server.js") {
			t.Errorf("arguments %q", s.Args)
		}
	}
}

// TestScriptsOfNoFolder tells of a program among the arguments that would be whichever lies
// in the folder one stands in, and reads nothing into other words.
func TestScriptsOfNoFolder(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Chdir(t.TempDir())
	for _, path := range []string{filepath.Join(home, ".cursor", "mcp.json"), filepath.Join(home, "mine.json")} {
		for entry, told := range map[string]bool{
			`{"command": "node", "args": ["server.js"]}`:                 true,
			`{"command": "python3", "args": ["-u", "src/main.py"]}`:      true,
			`{"command": "uv", "args": ["run", "main.py"]}`:              true,
			`{"command": "node", "args": ["/x/server.js"]}`:              false,
			`{"command": "node", "args": ["server.js"], "cwd": "/x"}`:    false,
			`{"command": "npx", "args": ["-y", "discord.js"]}`:           false,
			`{"command": "node", "args": ["--eval", "1", "serve"]}`:      false,
			`{"command": "uvx", "args": ["mcp-server", "--db", "a.py"]}`: false,
		} {
			write(t, path, `{"mcpServers": {"a": `+entry+`}}`)
			f, err := Read(path)
			if err != nil || len(f.Servers) != 1 || len(f.Warnings) > 0 {
				t.Fatalf("%s: %+v, %v", entry, f, err)
			}
			if got := len(f.Notes) == 1 && strings.Contains(f.Notes[0], "is looked for in the folder that wharf is started in"); got != told || !told && len(f.Notes) > 0 {
				t.Errorf("%s: %q", entry, f.Notes)
			}
		}
	}
}

// A command line in one string is not taken for a path. A file whose folder has a blank in its
// name is.
func TestACommandLineIsNoPath(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "wharf.toml")
	write(t, filepath.Join(folder, "my tools", "run"), "")
	for command, want := range map[string]string{
		"npx":                 "npx",
		"npx -y foo":          "npx -y foo",
		"npx -y @scope/foo":   "npx -y @scope/foo",
		"node /srv.js":        "node /srv.js",
		"my tools/other":      "my tools/other",
		"my tools/run":        filepath.Join(folder, "my tools", "run"),
		"bin/run":             filepath.Join(folder, "bin", "run"),
		"./my run":            filepath.Join(folder, "my run"),
		"./run --root x":      filepath.Join(folder, "run --root x"),
		"/opt/my tools/run x": "/opt/my tools/run x",
	} {
		write(t, path, "[servers.a]\ncommand = \""+command+"\"\n")
		if f, err := Read(path); err != nil || f.Servers[0].Command != want {
			t.Errorf("%q became %+v, %v; want %q", command, f, err, want)
		}
	}
}
