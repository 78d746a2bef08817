package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each client of the table has a folder in testdata/clients with files as its
// documentation shows them, see the README there, each beside a .golden with all that it
// gives. That the client is recognised by the path of its file is in it too.
func TestClients(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	t.Setenv("USERPROFILE", "/home/ada")
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	secrets := regexp.MustCompile(`input/[0-9a-f]{12}/`)
	for _, c := range clients {
		t.Run(c.id, func(t *testing.T) {
			files := 0
			err := filepath.WalkDir(filepath.Join("testdata", "clients", c.id), func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() || strings.HasSuffix(path, ".golden") || filepath.Base(filepath.Dir(path)) == ".claude" { // these are read with the file beside
					return err
				}
				files++
				file, err := Read(path)
				if err != nil {
					t.Error(err)
					return nil
				}
				if file.Client != c.name {
					t.Errorf("%s is taken for a file of %q", path, file.Client)
				}
				text := strings.NewReplacer(filepath.ToSlash(filepath.Join(here, "testdata", "clients", c.id)), "PROJECT", filepath.ToSlash(here), "FOLDER").
					Replace(filepath.ToSlash(dump(file, nil)))
				compareGolden(t, path+".golden", secrets.ReplaceAllString(text, "input/FILE/"))
				return nil
			})
			if err != nil || files == 0 {
				t.Errorf("%d files, %v", files, err)
			}
		})
	}
}

// TestDashesOfYAML reads two dashes as a list in a list, and that a list in the wrong place is an error that says so.
func TestDashesOfYAML(t *testing.T) {
	const server = "mcpServers:\n  - name: x\n    command: y\n    args:\n"
	for text, want := range map[string]string{
		server + "      - -y\n      - --z\n":                                  "",
		server + "      - \"- z\"\n":                                          "",
		server + "      - -y\n      - - z\n":                                  "a.yaml:4: server x: args[1]: expected a text, not a list in the list; leave one dash out",
		server + "    - - z\n      - z\n":                                     "a.yaml:4: server x: args[0]: expected a text, not a list in the list; leave one dash out",
		"mcpServers:\n- - name: x\n    command: y\n":                          "a.yaml:2: mcpServers.0: expected the keys of a server, not a list in the list; leave one dash out",
		"mcpServers:\n- name: x\n  command: y\n- - name: z\n    command: y\n": "a.yaml:4: mcpServers.1: expected the keys of a server, not a list in the list; leave one dash out",
		"mcpServers:\n- name: x\n  command: y\n- y\n":                         "a.yaml:4: mcpServers.1: expected the keys of a server, not a text; it is left out",
	} {
		f, err := Parse("a.yaml", []byte(text))
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = strings.Join(f.Warnings, "; ")
		}
		if !strings.HasPrefix(got, want) || want == "" && (got != "" || len(f.Servers) != 1 || len(f.Servers[0].Args) == 0) {
			t.Errorf("%s%s; want %s", text, got, want)
		}
	}
}

// A copy of a file under another name is read as the client does whose keys it has; where
// that is not clear, a note names each value that only looks like a variable.
func TestFilesByTheirMarks(t *testing.T) {
	t.Setenv("MY_KEY", "sesame")
	for _, tt := range []struct{ file, client, value, note string }{
		{`{"mcpServers": {"x": {"command": "x", "env": {"KEY": "$MY_KEY"}, "trust": true}}}`, "Gemini CLI", "sesame", "is read as a file of Gemini CLI"},
		{`{"mcpServers": {"x": {"command": "x", "env": {"KEY": "$MY_KEY"}}, "h": {"httpUrl": "https://h.example/mcp"}}}`, "Gemini CLI", "sesame", "is read as"},
		{`{"mcpServers": {"x": {"command": "x", "env": {"KEY": "$env:MY_KEY"}}, "h": {"baseUrl": "https://h.example/mcp"}}}`, "mcporter", "sesame", "is read as"},
		{`{"mcpServers": {"x": {"command": "x", "env": {"KEY": "$MY_KEY"}}}}`, "another client", "$MY_KEY", "env.KEY: is the text $MY_KEY, and no variable; write ${MY_KEY} for that"},
		{`{"mcpServers": {"x": {"command": "x", "env": {"KEY": "$MY_KEY"}}, "h": {"httpUrl": "https://h.example/mcp"}, "b": {"baseUrl": "https://h.example/mcp"}}}`, "another client", "$MY_KEY", "is the text"},
	} {
		f, err := Parse("copy.json", []byte(tt.file))
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.Servers[0].Expand(os.LookupEnv)
		if err != nil || f.Client != tt.client || s.Env["KEY"] != tt.value || !strings.Contains(strings.Join(f.Notes, "\n"), tt.note) {
			t.Errorf("%s: client %q, value %q, notes %q, %v", tt.file, f.Client, s.Env["KEY"], f.Notes, err)
		}
	}
}

// A command line or a url in place of the entry of a server is answered with the entry.
func TestCommandLineForEntry(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, tt := range []struct{ path, file, says string }{
		{"a.json", `{"mcpServers": {"x": "node srv.js"}}`, `a.json:1: server x: expected a table of keys and values, not a text; write "x": {"command": "node", "args": ["srv.js"]}; this server is left out`},
		{"a.json", `{"mcpServers": {"x": ["node", "my srv.js"]}}`, `not a list; write "x": {"command": "node", "args": ["my srv.js"]}; this`},
		{"a.json", `{"mcpServers": {"x": "https://h.example/mcp"}}`, `not a text; write "x": {"url": "https://h.example/mcp"}; this`},
		{"a.json", `{"mcpServers": {"x": "` + long + `"}}`, `not a text; this server is left out`},
		{"a.json", `{"mcpServers": {"x": 5}}`, `not a number; this server is left out`},
		{"a.yaml", "mcpServers:\n  x: node srv.js\n", `a.yaml:2: server x: expected a table of keys and values, not a text; write "x": {"command": "node", "args": ["srv.js"]}; this`},
		{"a.toml", "[servers]\nx = 'node srv.js'\n", `a.toml:2: server x: expected a table of keys and values, not a text; write x = { command = "node", args = ["srv.js"] }`},
		{"a.json", `{"mcpServers": {"command": "node", "args": ["srv.js"]}}`, `a.json:1: command: is a key of a server, where its name is expected; write "NAME": {"command": "node", "args": ["srv.js"]}`},
		{"a.toml", "[servers]\nurl = 'https://h.example/mcp'\n", `a.toml:2: url: is a key of a server, where its name is expected; write NAME = { url = "https://h.example/mcp" }`},
	} {
		f, err := Parse(tt.path, []byte(tt.file))
		said := ""
		if err != nil {
			said = err.Error()
		} else {
			said = strings.Join(f.Warnings, "\n")
		}
		if !strings.Contains(said, tt.says) {
			t.Errorf("%s: %s", tt.file, said)
		}
	}
}
