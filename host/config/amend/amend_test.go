package amend

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/config/tomledit"
)

const before = `# mine
max_timeout = "2h"

# the files
[servers.files]
command = "npx" # as root? no
args = ["-y", "files"]
timeout = "30s"

[servers.web]
url = "https://mcp.example.com/mcp"
disabled = true
`

// open returns a file with a text.
func open(t *testing.T, text string) *tomledit.File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wharf.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := tomledit.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func read(t *testing.T, f *tomledit.File) string {
	t.Helper()
	text, err := os.ReadFile(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A change is shown whole, and written as it was shown; comments and order stay.
func TestChanges(t *testing.T) {
	demo := config.Server{Name: "demo", Command: "wharf", Args: []string{"demo-server"}, Env: map[string]string{"API_TOKEN": "x"}}
	for name, tt := range map[string]struct {
		make  func(*tomledit.File) (*Change, error)
		want  string // of before
		in    string
		lines []string
	}{
		"add": {
			func(f *tomledit.File) (*Change, error) { return Add(f, demo, false) },
			"", "\n[servers.demo]\ncommand = \"wharf\"\nargs = [\"demo-server\"]\nenv = { API_TOKEN = \"x\" }\n",
			[]string{"demo would be added to ", "  [servers.demo]", `  env = { API_TOKEN = "x" }`, "It runs this on your machine", "  command  wharf", "        1  demo-server", "! env.API_TOKEN looks like a secret"},
		},
		"replace": {
			func(f *tomledit.File) (*Change, error) {
				return Add(f, config.Server{Name: "web", URL: "http://other.example/mcp"}, true)
			},
			"url = \"https://mcp.example.com/mcp\"\ndisabled = true\n", "url = \"http://other.example/mcp\"\n",
			[]string{"web would be replaced in ", `  url = "https://mcp.example.com/mcp"`, "In its place comes:", "It sends requests to other.example.", "! the connection to it is not encrypted."},
		},
		"remove": {
			func(f *tomledit.File) (*Change, error) { return Remove(f, "web") },
			"\n[servers.web]\nurl = \"https://mcp.example.com/mcp\"\ndisabled = true\n", "",
			[]string{"web would be removed from ", "  [servers.web]", "  disabled = true"},
		},
		"disable": {
			func(f *tomledit.File) (*Change, error) { return Enable(f, "files", false) },
			"timeout = \"30s\"\n", "timeout = \"30s\"\ndisabled = true\n",
			[]string{"files would be changed in ", "  + disabled = true"},
		},
		"enable": {
			func(f *tomledit.File) (*Change, error) { return Enable(f, "web", true) },
			"disabled = true\n", "",
			[]string{"web would be changed in ", "  - disabled = true", "web then is:", "It sends requests to mcp.example.com."},
		},
		"enable what is enabled": {
			func(f *tomledit.File) (*Change, error) { return Enable(f, "files", true) }, "", "", []string{"files would be changed in "},
		},
		"edits": {
			func(f *tomledit.File) (*Change, error) {
				return Edits(f, []Edit{{[]string{"servers", "files", "timeout"}, "1m"}, {[]string{"servers", "files", "args"}, []any{"-y", "more\x1b[2J"}}})
			},
			"args = [\"-y\", \"files\"]\ntimeout = \"30s\"\n", "args = [\"-y\", \"more\\u001B[2J\"]\ntimeout = \"1m\"\n",
			[]string{`  - timeout = "30s"`, `  + timeout = "1m"`, `  - args = ["-y", "files"]`, "files then is:", `        2  "more\x1b[2J"`},
		},
	} {
		f := open(t, before)
		c, err := tt.make(f)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		at := 0
		for _, line := range tt.lines { // in this order
			i := slices.IndexFunc(c.Lines[at:], func(l string) bool { return strings.HasPrefix(l, line) })
			if i < 0 {
				t.Errorf("%s: no line %q in its place in\n%s", name, line, strings.Join(c.Lines, "\n"))
				break
			}
			at += i + 1
		}
		if err := c.Write(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := before + tt.in
		if tt.want != "" {
			want = strings.Replace(before, tt.want, tt.in, 1)
		}
		if got := read(t, f); got != want {
			t.Errorf("%s: the file is\n%s\nwant\n%s", name, got, want)
		}
	}
}

// What is wrong with an entry that is in no file yet is told without a line of the file.
func TestWrongEntry(t *testing.T) {
	_, err := Add(open(t, before), config.Server{Name: "new", Command: "x", Env: map[string]string{"A=B": "x"}}, false)
	if want := `server new: env: "A=B" is no name of a variable`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// What a person was shown is written into the file that they were shown, and into no other. What they were
// not shown is made again on the file as it is.
func TestFileIsChangedMeanwhile(t *testing.T) {
	f := open(t, before)
	shown, err := Add(f, config.Server{Name: "new", Command: "x"}, false)
	if err != nil {
		t.Fatal(err)
	}
	other := "# by hand\n" + before + "\n[servers.new]\ncommand = \"y\"\n"
	if err := os.WriteFile(f.Path, []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := shown.Write(t.Context()); !errors.Is(err, tomledit.ErrChanged) {
		t.Error(err)
	}
	var taken *TakenError
	if err := shown.Merge(t.Context()); !errors.As(err, &taken) {
		t.Error(err)
	}
	if got := read(t, f); got != other {
		t.Error(got)
	}
	f = open(t, before)
	off, err := Enable(f, "files", false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.Path, []byte("# by hand\n"+before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := off.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := read(t, f); !strings.HasPrefix(got, "# by hand\n# mine") || !strings.Contains(got, "disabled = true\n\n[servers.web]") {
		t.Error(got)
	}
	gone, err := Remove(f, "files")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.Path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := gone.Merge(t.Context()); !errors.As(err, new(*GoneError)) {
		t.Error(err)
	}
}

// A person has to agree to each key that changes what is run, reached or given away. All keys count that are
// not known to be harmless.
func TestGraveChanges(t *testing.T) {
	for name, tt := range map[string]struct {
		path  []string
		value any
		grave string
	}{
		"a timeout":           {[]string{"servers", "files", "timeout"}, "1m", ""},
		"no timeout":          {[]string{"servers", "files", "timeout"}, nil, ""},
		"off":                 {[]string{"servers", "files", "disabled"}, true, ""},
		"on":                  {[]string{"servers", "web", "disabled"}, nil, "servers.web.disabled"},
		"on in words":         {[]string{"servers", "web", "disabled"}, false, "servers.web.disabled"},
		"gone":                {[]string{"servers", "files"}, nil, "servers.files"},
		"all gone":            {[]string{"servers"}, nil, "servers.files servers.web"},
		"reconnect":           {[]string{"reconnect", "failures"}, 3, ""},
		"the same command":    {[]string{"servers", "files", "command"}, "npx", ""},
		"command":             {[]string{"servers", "files", "command"}, "sh", "servers.files.command"},
		"args":                {[]string{"servers", "files", "args"}, []any{"-c", "evil"}, "servers.files.args"},
		"url":                 {[]string{"servers", "web", "url"}, "https://evil.example/mcp", "servers.web.url"},
		"env":                 {[]string{"servers", "files", "env", "LD_PRELOAD"}, "x.so", "servers.files.env"},
		"headers":             {[]string{"servers", "web", "headers"}, map[string]any{"A": "b"}, "servers.web.headers"},
		"proxy":               {[]string{"servers", "web", "proxy"}, "http://evil.example", "servers.web.proxy"},
		"auth":                {[]string{"servers", "web", "auth", "command"}, []any{"evil"}, "servers.web.auth"},
		"sampler":             {[]string{"servers", "web", "sampler"}, []any{"evil"}, "servers.web.sampler"},
		"fewer limits":        {[]string{"servers", "web", "enabled_tools"}, []any{"*"}, "servers.web.enabled_tools"},
		"resend":              {[]string{"servers", "web", "resend"}, true, "servers.web.resend"},
		"plugin":              {[]string{"plugins", "pigeon", "file"}, "/x.wasm", "plugins.pigeon"},
		"server":              {[]string{"servers", "new"}, map[string]any{"command": "x"}, "servers.new"},
		"server as harmless":  {[]string{"servers", "timeout"}, map[string]any{"command": "x"}, "servers.timeout"},
		"server by its key":   {[]string{"servers", "new", "command"}, "x", "servers.new"},
		"access":              {[]string{"access", "all", "match"}, []any{"*"}, "access.all"},
		"a file's own choice": {[]string{"max_timeout"}, "1h", ""},
	} {
		c, err := Edits(open(t, before), []Edit{{tt.path, tt.value}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := strings.Join(c.Grave, " "); got != tt.grave {
			t.Errorf("%s: a person agrees to %q, want %q", name, got, tt.grave)
		}
	}
}

// Edits that do not fit are refused, and leave nothing behind.
func TestEditsThatDoNotFit(t *testing.T) {
	f := open(t, before)
	for name, edits := range map[string][]Edit{
		"none":           nil,
		"too many":       make([]Edit, maxEdits+1),
		"no path":        {{nil, "x"}},
		"an empty name":  {{[]string{"servers", ""}, "x"}},
		"unknown key":    {{[]string{"servers", "files", "comand"}, "x"}},
		"wrong type":     {{[]string{"servers", "files", "args"}, "x"}},
		"no target":      {{[]string{"servers", "files", "command"}, nil}},
		"a bad duration": {{[]string{"servers", "files", "timeout"}, "soon"}},
		"a bad name":     {{[]string{"servers", "a b"}, map[string]any{"command": "x"}}},
		"the second":     {{[]string{"servers", "files", "timeout"}, "1m"}, {[]string{"servers", "files", "ping"}, "1ms"}},
	} {
		if _, err := Edits(f, edits); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if got := read(t, f); got != before {
		t.Error(got)
	}
}

// An entry in JSON is read as strictly as one of a file.
func TestReadEntry(t *testing.T) {
	s, err := ReadEntry("wharf.toml", []byte(`{"name":"files","command":"npx","args":["-y","a b"],"env":{"A":"${A}"},"copies":3,"auth":{"provider":"helper","command":["x"],"variables":["B"]}}`))
	if err != nil || s.Name != "files" || len(s.Args) != 2 || s.Env["A"] != "${A}" || s.Copies != 3 || len(s.Auth.Command) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	for text, want := range map[string]string{
		`7`:                                         "expected an object with a name",
		`{"command":"x"}`:                           "expected an object with a name",
		`{"name":7,"command":"x"}`:                  "expected an object with a name",
		`{"name":"a b","command":"x"}`:              "is no name",
		`{"name":"a"}`:                              "expected a command, a url or a transport",
		`{"name":"a","comand":"x"}`:                 "server a: comand: there is no such key; did you mean command?",
		`{"name":"a","command":"x","url":"y"}`:      "url",
		`{"name":"a","command":null}`:               "there is no null",
		`{"name":"a","command":"x","copies":1e400}`: "too large",
		`{"name":"a","command":"x","env":{"A":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}}`: "deep",
		`{"name":"a","command":"\ud800"}`: "",
	} {
		if _, err := ReadEntry("wharf.toml", []byte(text)); want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzEntry reads entries and adds those that can be read: what is written is read as the same.
func FuzzEntry(f *testing.F) {
	f.Add(`{"name":"files","command":"npx","args":["-y"],"env":{"A":"b"}}`)
	f.Add(`{"name":"web","url":"https://x.example","headers":{"A":"b"},"timeout":"1m","auth":{"provider":"x","a":[1,2.5,true]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadEntry("wharf.toml", []byte(text))
		if err != nil {
			return
		}
		file := &tomledit.File{Path: "wharf.toml", Text: []byte(before), Read: &config.File{}}
		c, err := Add(file, s, false)
		if err != nil {
			return
		}
		if !strings.HasPrefix(string(c.Text), before) && s.Name != "files" && s.Name != "web" {
			t.Errorf("%s: changes what was there: %s", text, c.Text)
		}
		for _, line := range c.Lines {
			if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("%q steers a terminal", line)
			}
		}
	})
}

// FuzzEdit sets a key to a value: what is not harmless is asked.
func FuzzEdit(f *testing.F) {
	f.Add("servers", "files", "command", `"sh"`)
	f.Add("servers", "files", "timeout", `"1m"`)
	f.Add("plugins", "x", "file", `{"a":1}`)
	f.Fuzz(func(t *testing.T, a, b, key, value string) {
		v, err := ReadValue([]byte(value))
		if err != nil {
			return
		}
		read, err := config.Parse("wharf.toml", []byte(before))
		if err != nil {
			t.Fatal(err)
		}
		file := &tomledit.File{Path: "wharf.toml", Text: []byte(before), Read: read}
		c, err := Edits(file, []Edit{{[]string{a, b, key}, v}})
		if err != nil || len(c.Grave) > 0 {
			return
		}
		after, err := config.Parse("wharf.toml", c.Text)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range after.Servers {
			was := read.Servers[i]
			if s.Command != was.Command || s.URL != was.URL || !slices.Equal(s.Args, was.Args) || len(s.Env) != len(was.Env) || len(s.Headers) != len(was.Headers) {
				t.Errorf("%s.%s.%s = %s is not asked", a, b, key, value)
			}
		}
	})
}

func TestEffectNamesWhereRequestsGo(t *testing.T) {
	for url, want := range map[string]string{
		"https://a.example:8443/mcp": "a.example:8443", "unix:///run/mcp.sock#/mcp": "the socket /run/mcp.sock",
		"wss://a.example/mcp": "a.example", "ws://a.example/mcp": "a.example ! the connection to it is not encrypted.",
		"http://": "nowhere ! this is no address of the web.",
	} {
		what, _ := Effect(config.Server{URL: url})
		got := strings.TrimSuffix(strings.TrimPrefix(what, "It sends requests to "), ".")
		for _, caution := range Cautions(config.Server{URL: url}) {
			got += " ! " + caution
		}
		if got != want {
			t.Errorf("%s: %s; want %s", url, got, want)
		}
	}
}

func TestEffectHasTheDollarsOfTheProcess(t *testing.T) {
	_, argv := Effect(config.Server{Command: "bash", Args: []string{"-c", "echo $$$$ $${FOO}"}})
	if want := []string{"bash", "-c", "echo $$ ${FOO}"}; !slices.Equal(argv, want) {
		t.Errorf("%q", argv)
	}
}
