package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each client of the table has a folder in testdata/clients with files as its
// documentation shows them, see the README there, each beside a .golden with all that it
// gives. That the client is recognised by the path of its file is in it too.
func TestClients(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	t.Setenv("USERPROFILE", "/home/ada")
	for _, name := range []string{"LOG_LEVEL", "GH_PAT", "API_KEY", "MY_VALUE", "MY_API_KEY", "MY_CLIENT_ID", "MY_CLIENT_SECRET", "DB_CONNECTION_STRING", "EXTERNAL_API_KEY"} {
		t.Setenv(name, "") // which restores it
		_ = os.Unsetenv(name)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	secrets := regexp.MustCompile(`input/[0-9a-f]{12}/`)
	for _, c := range clients {
		t.Run(c.id, func(t *testing.T) {
			files := 0
			err := filepath.WalkDir(filepath.Join("testdata", "clients", c.id), func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() || strings.HasSuffix(path, ".golden") || filepath.Base(filepath.Dir(path)) == ".claude" || filepath.Base(path) == "managed-settings.json" { // these are read with the file beside
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

// TestHintsAtDefaults follows the hint about a variable that is not set: where it tells of a default, one
// that is written as told is used, and it tells of none where the client's syntax has none.
func TestHintsAtDefaults(t *testing.T) {
	for path, entry := range map[string]string{
		".continue/config.yaml": "name: c\nmcpServers:\n  - name: a\n    command: x\n    env:\n      K: %q\n",
		"crush.json":            `{"mcp": {"a": {"type": "stdio", "command": "x", "env": {"K": %q}}}}`,
		".mcp.json":             `{"mcpServers": {"a": {"command": "x", "env": {"K": %q}}}}`,
		"mcphub/servers.json":   `{"mcpServers": {"a": {"command": "x", "env": {"K": %q}}}}`,
		"mcporter.json":         `{"mcpServers": {"a": {"command": "x", "env": {"K": %q}}}}`,
		".cursor/mcp.json":      `{"mcpServers": {"a": {"command": "x", "env": {"K": %q}}}}`,
	} {
		expand := func(value string) (Server, error) {
			file, err := Parse(path, fmt.Appendf(nil, entry, value))
			if err != nil || len(file.Servers) != 1 {
				t.Fatalf("%s: %v, %v", path, file, err)
			}
			return file.Servers[0].Expand(func(string) (string, bool) { return "", false })
		}
		spelled := map[string]string{"crush.json": "${UNSET:?}", ".continue/config.yaml": "${{ secrets.UNSET }}", "mcporter.json": "$env:UNSET", ".cursor/mcp.json": "${env:UNSET}"}
		_, wrong := expand(cmp.Or(spelled[path], "${UNSET}"))
		if wrong == nil || !strings.Contains(wrong.Error(), "UNSET is not set; set it") {
			t.Errorf("%s: %v", path, wrong)
			continue
		}
		if _, told, found := strings.Cut(wrong.Error(), "or write "); found {
			if s, err := expand(told); err != nil || s.Env["K"] != "default" {
				t.Errorf("%s: %s gives %q, %v", path, told, s.Env["K"], err)
			}
		}
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

// Nothing escapes a dollar sign in a file of Gemini CLI.
func TestGeminiDollars(t *testing.T) {
	t.Setenv("x", "1")
	for value, want := range map[string]string{
		"$x": "1", "$$x": "$1", "$$$x": "$$1", "$${x}": "$1", "a$$": "a$$", "$": "$", "$5": "$5", "$$5": "$$5", "${x}$x$": "11$", "${x:-y}": "1",
	} {
		file, err := Parse(".gemini/settings.json", []byte(`{"mcpServers": {"a": {"command": "x", "env": {"K": "`+value+`"}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		if s, err := file.Servers[0].Expand(os.LookupEnv); err != nil || s.Env["K"] != want {
			t.Errorf("%s: %q, %v, want %q", value, s.Env["K"], err, want)
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
		{`{"mcpServers": {"x": {"command": "x", "env": {"KEY": "$env:MY_KEY"}}, "h": {"url": "https://h.example/mcp", "bearerTokenEnv": "K"}}}`, "mcporter", "sesame", "is read as"},
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

// In YAML a list of servers is one of Continue, and a table is one of LibreChat by the name of the file alone.
func TestFilesOfYAML(t *testing.T) {
	t.Setenv("MY_KEY", "sesame")
	const table = "mcpServers:\n  x: {command: '${MY_KEY}', env: {KEY: '${MY_KEY}', OTHER: '${NOT_SET}'}}\n  w: {url: 'wss://h.example'}\n"
	const list = "mcpServers:\n  - {name: x, command: '${MY_KEY}', env: {KEY: '${MY_KEY}', OTHER: '${NOT_SET}'}}\n"
	for _, tt := range []struct{ path, file, client, gets, wrong string }{
		{"copy.yaml", table, "another client", "sesame sesame ", "env.OTHER: the variable NOT_SET is not set; set it"},
		{"goose/config.yaml", table, "another client", "sesame sesame ", "env.OTHER: the variable NOT_SET is not set; set it"},
		{"librechat.yaml", table, "LibreChat", "${MY_KEY} sesame ${NOT_SET}", ""},
		{"copy.yaml", list, "Continue", "${MY_KEY} ${MY_KEY} ${NOT_SET}", ""},
		{"librechat.yaml", list, "LibreChat", "${MY_KEY} sesame ${NOT_SET}", ""},
	} {
		f, err := Parse(tt.path, []byte(tt.file))
		if err != nil || len(f.Servers) == 0 {
			t.Fatalf("%s: %+v, %v", tt.path, f, err)
		}
		s, err := f.Servers[0].Expand(os.LookupEnv)
		if gets := s.Command + " " + s.Env["KEY"] + " " + s.Env["OTHER"]; f.Client != tt.client || gets != tt.gets || !strings.Contains(fmt.Sprint(err), tt.wrong) {
			t.Errorf("%s: of %s, gets %s, %v", tt.path, f.Client, gets, err)
		}
		for _, w := range f.Servers[1:] {
			if _, err := w.Expand(os.LookupEnv); w.Transport != "" || err == nil || !strings.Contains(err.Error(), "WebSocket") {
				t.Errorf("%s: transport %q, %v", tt.path, w.Transport, err)
			}
		}
	}
}

// A command that mcphub.nvim would run is told of under any name of the file, and in Wharf's own.
func TestCommandsOfHub(t *testing.T) {
	for path, file := range map[string]string{
		"copy.json":           `{"mcpServers": {"x": {"command": "x", "env": {"K": "a${cmd: echo hi}"}}}}`,
		"copy.yaml":           "mcpServers:\n  x: {command: x, env: {K: '${ cmd: echo hi}'}}\n",
		"mcphub/servers.json": `{"mcpServers": {"x": {"command": "x", "env": {"K": "${cmd: echo hi}"}}}}`,
		"wharf.toml":          "[servers.x]\ncommand = 'x'\nenv = { K = '${cmd: echo hi}' }\n",
	} {
		f, err := Parse(path, []byte(file))
		if err != nil {
			t.Fatal(err)
		}
		said := strings.Join(f.Warnings, "\n")
		for _, s := range f.Servers {
			_, err := s.Expand(os.LookupEnv)
			said += fmt.Sprint(err)
		}
		want := "env.K: holds a command, ${cmd: …}, which mcphub.nvim would run when it reads the file; wharf does not: set a variable, and write ${NAME}"
		if path != "mcphub/servers.json" {
			want += ", or have the output in a file, and write ${file:PATH}"
		}
		if !strings.Contains(said, want) || strings.Contains(said, "names no variable") {
			t.Errorf("%s: %s", path, said)
		}
	}
}

// Of the commands that Crush would run, only an echo that prints its words is understood.
func TestCommandsOfCrush(t *testing.T) {
	t.Setenv("MY_KEY", "sesame")
	for value, want := range map[string]string{
		"$(echo $MY_KEY)": "sesame", "$(echo Bearer ${MY_KEY})": "Bearer sesame", `$(echo "a $MY_KEY" "b")`: "a sesame b", "$(echo hi)": "hi",
		"$(echo a b; id)": "", "$(echo a | id)": "", "$(echo a && id)": "", "$(echo a\nid)": "", "$(echo `id`)": "", "$(echo a > f)": "", "$(echo < f)": "",
		"$(echo $(id))": "", "$(echo '$MY_KEY')": "", "$(echo -n a)": "", "$(echo a  b)": "", "$(echo *)": "", "$(echo ~)": "", `$(echo \a)`: "", "$(echo a$$)": "",
		"$(echo ${#MY_KEY})": "", `$(echo "a)`: "", `$(echo a"$MY_KEY"b)`: "", "$(echo a )": "", "$(echo)": "", "$(echo {a,b})": "", "$(echo a # b)": "", "x $(echo a)": "",
	} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Parse("crush.json", []byte(`{"mcp": {"x": {"type": "stdio", "command": "x", "env": {"B": `+string(text)+`}}}}`))
		switch {
		case err != nil:
			t.Error(value, err)
		case want == "":
			if len(f.Servers) > 0 || !strings.Contains(strings.Join(f.Warnings, "\n"), "env.B: holds a command, $(…)") {
				t.Errorf("%q: %v, warnings %q", value, f.Servers, f.Warnings)
			}
		case len(f.Servers) != 1:
			t.Errorf("%q: warnings %q", value, f.Warnings)
		default:
			if s, err := f.Servers[0].Expand(os.LookupEnv); err != nil || s.Env["B"] != want {
				t.Errorf("%q becomes %q, %v", value, s.Env["B"], err)
			}
		}
	}
}

// What stands in the wrong place is answered with what to write.
func TestMisplacedEntries(t *testing.T) {
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
		{"a.json", `{"mcpServers": {"mcpServers": {"x": {"command": "x"}}}}`, "a.json:1: mcpServers: is within mcpServers; write its servers there"},
		{"a.json", `{"mcpServers": "node srv.js"}`, `a.json:1: mcpServers: expected a table of servers, not a text; write "mcpServers": {"NAME": {"command": "node", "args": ["srv.js"]}}`},
		{"a.json", `{"mcpServers": ["node srv.js"]}`, `mcpServers.0: expected the keys of a server, not a text; write "mcpServers": {"NAME": {"command": "node", "args": ["srv.js"]}}`},
		{"a.json", `{"mcpServers": null}`, "a.json:1: mcpServers: expected a table of servers, not null"},
		{"a.json", `{"command": "node", "args": ["srv.js"]}`, `a.json:1: command: is a key of a server, where its name is expected; write "mcpServers": {"NAME": {"command": "node", "args": ["srv.js"]}}`},
		{"a.json", `{"x": {"command": "node"}}`, `a.json:1: x: looks like a server; write {"mcpServers": {"x": {…}}}`},
		{"a.json", `{"augment": {"mcpServers": []}}`, "a.json:1: augment.mcpServers: is not where servers are looked for; write mcpServers at the top of the file"},
		{"a.json", "{\"mcpServers\": {\"x\": {\"command\": \"a\"}},\n\"mcpServers\": {\"y\": {\"command\": \"b\"}}}", "a.json:2: mcpServers: stands twice; the last one counts$"},
		{".vscode/mcp.json", `{"x": {"command": "node"}}`, `mcp.json:1: x: looks like a server; write {"servers": {"x": {…}}}`},
		{".zed/settings.json", `{"x": {"command": "node"}}`, "is a file of Zed, and has no servers: expected them under context_servers"},
		{"a.json", `{"mcpServers": {"x": {" command": "node"}}}`, "command: has blanks around it; write command without them"},
		{"a.json", `{"mcpServers": {"x": {"command": "node", "arg": ["x"]}}}`, "server x: arg: is not used by wharf; did you mean args?"},
		{"a.json", `{"mcpServers": {"x": {"command": "node", "enviroment": {"A": "b"}}}}`, "server x: enviroment: is not used by wharf; did you mean environment?"},
		{"a.json", `{"mcpServers": {"x": {"command": "node", "args": ["x"], "arg": "y"}}}`, "server x: arg: is not used by wharf$"},
		{"a.json", `{"mcpServers": {"x": {"url": "https://h.example", "oauth": {"clientId": "c", "tokenUrl": "https://t.example"}}}}`, "server x: oauth.tokenUrl: is not used by wharf$"},
		{"a.json", `{"mcpServers": {"x": {"command": "node", " args": ["x"]}}}`, "args: has blanks around it; write args without them"},
		{"a.yaml", "mcpServers:\n\tx:\n\t\tcommand: node\n", "a.yaml:2: is not YAML: a line begins with a tab; write blanks in its place"},
		{"a.toml", "[servers.m", "a.toml:1: is not TOML: expected '.' or ']' to end table name, but the file ends; a ] is missing$"},
		{"a.toml", "# mine\n[servers.x\ncommand = 'node'\n", "a.toml:2: is not TOML: expected '.' or ']' to end table name, but got '\\n' instead; a ] is missing$"},
		{"a.toml", "# mine\n[[servers]\ncommand = 'node'\n", "a.toml:2: is not TOML: expected end of table array name"},
		{"a.toml", "[servers.x]\ncommand = 'no\nde'\n", "a.toml:2: is not TOML: strings cannot contain newlines; close the quote on the line that opens it$"},
		{"a.toml", "[servers.x]\ncommand = \"node", "close the quote on the line that opens it$"},
		{"a.toml", "[servers.x]\ncommand = 'node", "close the quote on the line that opens it$"},
		{"a.toml", "[servers.x]\nargs = [\"a\" \"b\"]\n", "but got '\"'; a comma is missing before it$"},
		{"a.toml", "[servers.x]\nargs = [\n'a'\n'b']\n", "a.toml:4: is not TOML: expected a comma (',') or array terminator (']'), but got '''; a comma is missing before it$"},
		{"a.toml", "[servers.x]\ncommand: 'node'\n", "but got ':' instead; write = between a key and its value$"},
		{"a.toml", "[servers.x]\ncommand =\n", "; a value is missing$"},
		{"a.toml", "[servers.x]\ncommand =", "; a value is missing$"},
		{"a.toml", "[servers.x]\ncommand", "; a value is missing$"},
		{"a.toml", "servers = {\n", "a.toml:1: is not TOML: the { of this line is not closed$"},
		{"a.toml", "[servers.x]\nargs = {", "a.toml:2: is not TOML: the { of this line is not closed$"},
		{"a.toml", "[servers.x]\n\nheaders = { # }\n\n", "a.toml:3: is not TOML: the { of this line is not closed$"},
		{"a.toml", "[servers.x]\nenv = { A = '}'\n[servers.y]\nenv = {}\n", "a.toml:2: is not TOML: the { of this line is not closed$"},
		{"a.toml", "[servers.x]\nenv = { A = '1',\n[servers.y]\n", "a.toml:2: is not TOML: the { of this line is not closed$"},
		{"a.toml", "[servers.x]\nenv = { A = '1'\ncommand = 'node'\n", "a.toml:2: is not TOML: the { of this line is not closed$"},
		{"a.toml", "[servers.x]\nenv = {\nA = '1'\nB = '2'\n}\n", "a.toml:4: is not TOML: expected a comma"},
		{"a.toml", "[servers.x]\nenv = { A = '1 }\n", "a.toml:2: is not TOML: strings cannot contain newlines"},
		{"a.toml", "[servers.x]\nenv = { A = '1' ]\n", "a.toml:2: is not TOML: expected a comma"},
		{"a.toml", "[servers.x]\ndisabled = true\ndisabled = true\n", "a.toml:3: is not TOML: Key 'servers.x.disabled' has already been defined; take one of the two out$"},
		{"a.toml", "[servers.x]\ntimeout = 30s\n", "but got 's' instead; write a text in quotes$"},
		{"a.toml", "[servers.my server]\n", "but got 's' instead; a name with a blank is written in quotes$"},
		{"a.toml", "= 1\n[servers.x]\nenv = {\n", "a.toml:1: is not TOML: unexpected '='"},
		{"a.toml", "[servers.x]\n<<<<<<< HEAD\ncommand = 'a'\n=======\ncommand = 'b'\n>>>>>>> b\n", "a.toml:2: is a conflict marker of git; resolve the conflict, and take its markers out$"},
		{"a.toml", "[servers.x]\r\ncommand = 'a'\r\n=======\r\n", "a.toml:3: is a conflict marker of git"},
		{"a.toml", "<<<<<<<<\n", "a.toml:1: is not TOML: "},
		{"a.json", "{\n<<<<<<< HEAD\n}", "a.json:2: is a conflict marker of git"},
		{"a.yaml", "mcpServers:\n<<<<<<< HEAD\n  x: 1\n=======\n", "a.yaml:2: is a conflict marker of git"},
		{"a.toml", "[x]\ncommand = 'node'\n", "a.toml:1: x: there is no such key; a server is written [servers.x]"},
		{"a.toml", "command = 'node'\n", "a.toml:1: command: there is no such key; it is one of a server: write it below [servers.NAME]"},
		{"a.toml", "[servers.my.server]\ncommand = 'node'\n", `a.toml:1: server my: server: there is no such key; a name with a dot is written in quotes: [servers."my.server"]`},
		{"a.toml", "[servers]\nurl = 'https://h.example/mcp'\n", `a.toml:2: url: is a key of a server, where its name is expected; write NAME = { url = "https://h.example/mcp" }`},
	} {
		f, err := Parse(tt.path, []byte(tt.file))
		said := ""
		if err != nil {
			said = err.Error()
		} else {
			said = strings.Join(slices.Concat(f.Warnings, f.Notes), "\n")
		}
		if !strings.Contains(said+"$", tt.says) {
			t.Errorf("%s: %s", tt.file, said)
		}
	}
}

// A file that is not JSON is answered with what is usually wrong there, and the line of it.
func TestWrongJSON(t *testing.T) {
	for text, says := range map[string]string{
		"":                                       `a.json:1: is not JSON: it is empty; expected {"mcpServers": {…}}`,
		"[servers.x]\ncommand = 'x'\n":           "; this looks like TOML: name the file .toml",
		"{\n# a comment\n}":                      "a.json:2: is not JSON: invalid character '#'; a comment begins with //",
		"{'mcpServers': {}}":                     `; write names and texts in double quotes`,
		"{\n“mcpServers”: {}}":                   `a.json:2: is not JSON: invalid character 'â'; write " in place of “`,
		"{mcpServers: {}}":                       "; write names and texts in double quotes",
		"{\"mcpServers\": {7: {}}}":              "; write names and texts in double quotes",
		"{\"a\": 1\n\"b\": 2}":                   "a.json:2: is not JSON: invalid character '\"' after object key:value pair; is a comma or a colon missing before it?",
		"{\"a\" {}}":                             "is a comma or a colon missing before it?",
		"{\"a\": \"C:\\Users\"}":                 `; write \ twice`,
		"{\"a\": \"C:\\\\x\"\n, \"b\": \"\\q\"}": `a.json:2: is not JSON: invalid character 'q' in string escape code; write \ twice`,
	} {
		_, err := Parse("a.json", []byte(text))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %s", text, err, says)
		}
	}
}

// TestForeignRedirect turns redirect URIs into settings that the provider oauth has, in files of projects
// too, and tells of those that Wharf cannot listen at.
func TestForeignRedirect(t *testing.T) {
	for uri, want := range map[string]map[string]any{
		"http://localhost:7777/cb":      {"callback_host": "localhost", "callback_port": "7777", "callback_path": "/cb"},
		"http://127.0.0.1:7777":         {"callback_host": "127.0.0.1", "callback_port": "7777"},
		"http://127.0.0.1":              {"callback_host": "127.0.0.1"},
		"http://localhost/":             {"callback_host": "localhost", "callback_path": "/"},
		"https://localhost:7777/cb":     nil,
		"http://localhost.evil/cb":      nil,
		"http://127.0.0.1@evil.example": nil,
		"http://localhost:70000/cb":     nil,
		"http://localhost:${PORT}/cb":   nil,
		"http://localhost:1/cb?a=b":     nil,
		"evil://callback":               nil,
	} {
		entry := fmt.Sprintf(`{"mcpServers": {"s": {"url": "https://x", "oauth": {"redirectUri": %q}}}}`, uri)
		d := Discover(project(t, map[string]string{".mcp.json": entry}))
		if len(d.Servers) != 1 || len(d.Warnings) > 0 {
			t.Errorf("%s: servers %s, warnings %q", uri, listed(d.Servers), d.Warnings)
			continue
		}
		file, err := Parse(".mcp.json", []byte(entry))
		if err != nil || len(file.Servers) != 1 {
			t.Fatalf("%s: %v, %v", uri, file, err)
		}
		if got := file.Servers[0].Auth; got.Provider != oauth || !maps.Equal(got.Settings, want) {
			t.Errorf("%s: %v", uri, got)
		}
		if told := strings.Contains(strings.Join(file.Notes, "\n"), "oauth.redirectUri: "); told != (want == nil) {
			t.Errorf("%s: notes %q", uri, file.Notes)
		}
	}
}

// TestForeignRedirectOfAnEntry leaves the path open where mcporter does.
func TestForeignRedirectOfAnEntry(t *testing.T) {
	for uri, want := range map[string]map[string]any{
		"http://localhost:7777/":   {"callback_host": "localhost", "callback_port": "7777"},
		"http://localhost:7777/cb": {"callback_host": "localhost", "callback_port": "7777", "callback_path": "/cb"},
	} {
		file, err := Parse("mcporter.json", fmt.Appendf(nil, `{"mcpServers": {"s": {"url": "https://x", "auth": "oauth", "oauthRedirectUrl": %q}}}`, uri))
		if err != nil || len(file.Servers) != 1 {
			t.Fatalf("%s: %v, %v", uri, file, err)
		}
		if got := file.Servers[0].Auth; !maps.Equal(got.Settings, want) {
			t.Errorf("%s: %v", uri, got)
		}
	}
}

// TestForeignToken adopts a token of mcporter's file as a secret of the vault. An entry with a command
// is kept without what only a url has use for.
func TestForeignToken(t *testing.T) {
	for key, setting := range map[string]string{"bearerToken": "token", "bearer_token": "token", "oauthClientSecret": "client_secret"} {
		const value = "abc-token-12345"
		file, err := Parse("mcporter.json", fmt.Appendf(nil, `{"mcpServers": {"m": {"url": "https://x", %q: %q}, "p": {"command": "x", %[1]q: %[2]q}}}`, key, value))
		if err != nil || len(file.Servers) != 2 || len(file.Warnings) > 0 {
			t.Fatalf("%s: %v, %v", key, file, err)
		}
		if got := file.Servers[0].Auth.Settings[setting]; got != value {
			t.Errorf("%s: %v", key, got)
		}
		secrets := make(map[string]string)
		out, _ := file.Servers[0].Adopt(secrets, make(map[string]string))
		if want := (Reference{Secret: "m/" + setting}); out.Auth.Settings[setting] != want || secrets[want.Secret] != value {
			t.Errorf("%s: %v, secrets %v", key, out.Auth, secrets)
		}
		if told := strings.Contains(strings.Join(file.Notes, "\n"), key+": does nothing without a url"); !file.Servers[1].Auth.IsZero() || !told {
			t.Errorf("%s: %v, notes %q", key, file.Servers[1].Auth, file.Notes)
		}
	}
}

// An entry with a url may have what is for a command: clients pass over it. What is imported has not, since
// Wharf's own file may not; headers keep what they name.
func TestURLWithWhatIsForACommand(t *testing.T) {
	file, err := Parse("mcp.json", []byte(`{"mcpServers":{"u":{"url":"https://a.example/mcp","args":["x"],"cwd":"/tmp","env":{"PLACE":"here","API_KEY":"k-1","X_TOKEN":"t-1"},"headers":{"X-Place":"${env:PLACE}","X-Key":"${env:API_KEY}"}}}}`))
	if err != nil || len(file.Servers) != 1 {
		t.Fatal(file, err)
	}
	if len(file.Notes) != 2 || !strings.Contains(file.Notes[0], "args: does nothing") || !strings.Contains(file.Notes[1], "cwd: does nothing") {
		t.Errorf("notes: %q", file.Notes)
	}
	secrets := map[string]string{"other/X_TOKEN": "t"}
	out, _ := file.Servers[0].Adopt(secrets, make(map[string]string))
	if out.Args != nil || out.Env != nil || out.Dir != "" || out.Headers["X-Place"] != "here" || out.Headers["X-Key"] != "${secret:u/API_KEY}" {
		t.Errorf("%+v", out)
	}
	if want := map[string]string{"other/X_TOKEN": "t", "u/API_KEY": "k-1"}; !maps.Equal(secrets, want) {
		t.Errorf("the vault gets %v, want %v", secrets, want)
	}
	file, err = Parse(".vscode/mcp.json", []byte(`{"inputs":[{"type":"promptString","id":"k"},{"type":"promptString","id":"t"}],
		"servers":{"u":{"url":"https://a.example/mcp","env":{"K":"${input:k}"},"headers":{"X-T":"${input:t}"}}}}`))
	if err != nil || len(file.Servers) != 1 {
		t.Fatal(file, err)
	}
	if _, asked := file.Servers[0].Adopt(secrets, make(map[string]string)); len(asked) != 1 || asked[0].ID != "t" {
		t.Errorf("asked for %+v, want t alone", asked)
	}
}
