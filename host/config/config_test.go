package config

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// Each file of testdata stands beside a .golden with all that it gives:
// servers, plugins and warnings for a good one, errors for a bad one.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/good/*")
	bad, _ := filepath.Glob("testdata/bad/*")
	files = append(files, bad...)
	if err != nil || len(bad) == 0 {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, ".golden") {
			continue
		}
		t.Run(filepath.Base(path), func(t *testing.T) {
			file, err := Read(path)
			if bad := filepath.Base(filepath.Dir(path)) == "bad"; bad != (err != nil) {
				t.Fatalf("error: %v", err)
			}
			here, _ := os.Getwd()
			text := strings.ReplaceAll(dump(file, err), here, "FOLDER")
			compareGolden(t, path+".golden", filepath.ToSlash(text))
		})
	}
}

func dump(f *File, err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, s := range f.Servers {
		fmt.Fprintf(&b, "%s via %s from line %d\n", s.Name, s.Via(), s.line)
		b.WriteString(fields(s))
	}
	for _, name := range slices.Sorted(maps.Keys(f.Plugins)) {
		fmt.Fprintf(&b, "plugin %s\n%s", name, fields(f.Plugins[name]))
	}
	if r := f.Reconnect; r.Backoff != nil || r.Slow != 0 || r.Failures != 0 || f.MaxTimeout != 0 {
		fmt.Fprintf(&b, "reconnect %+v\nmax_timeout %v\n", r, f.MaxTimeout)
	}
	for _, w := range f.Warnings {
		fmt.Fprintln(&b, "warning:", w)
	}
	for _, n := range f.Notes {
		fmt.Fprintln(&b, "note:", n)
	}
	return b.String()
}

// nothing are TLS, Registry and Auth of an entry that says nothing of them.
var nothing = []string{
	`{"CA":"","Cert":"","Key":"","Name":""}`,
	`{"Address":"","Name":"","SHA256":"","Version":""}`,
	`{"Blob":false,"Command":null,"Env":null,"Provider":"","RequestBody":false,"Settings":null,"Variables":null}`,
}

// fields prints the fields of v that are not zero, a line each.
func fields(v any) string {
	data, _ := json.Marshal(v)
	var all map[string]any
	_ = json.Unmarshal(data, &all)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		switch v := all[name]; v {
		case nil, "", 0.0, false:
			continue
		}
		if line, _ := json.Marshal(all[name]); !slices.Contains(nothing, string(line)) {
			fmt.Fprintf(&b, "  %s %s\n", name, line)
		}
	}
	return b.String()
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestReadNoFile(t *testing.T) {
	if _, err := Read(filepath.Join(t.TempDir(), "wharf.toml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want fs.ErrNotExist", err)
	}
}

// Every mistake is an *Error, so that a program can point at it.
func TestErrorsArePlaces(t *testing.T) {
	_, err := Parse("x.toml", []byte("[servers.a]\ncomand = \"b\"\n"))
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v is no *Error", err)
	}
	if e.File != "x.toml" || e.Line != 2 || e.Subject != "server a" || e.Field != "comand" {
		t.Errorf("error is at %+v", e)
	}
}

func TestManyMistakesAreCut(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "[servers.s%d]\nx%d = 1\n", i, i)
	}
	_, err := Parse("x.toml", []byte(b.String()))
	if lines := strings.Count(err.Error(), "\n"); lines != maxErrors {
		t.Errorf("%d lines of errors, want %d", lines+1, maxErrors+1)
	}
}

// Each mistake of a long file has its line, also the last one, and one that only its use shows.
func TestLinesOfALongFile(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	const servers = 500
	for i := range servers {
		fmt.Fprintf(&text, "[servers.s%d]\ncommand = \"x\" # it\nenv = { A = \"1\", B = \"${NOT_SET_HERE}\" }\n", i)
	}
	f, err := Parse("long.toml", []byte(text.String()))
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Servers[servers-1].Expand(unset)
	if want := fmt.Sprintf("long.toml:%d: server s499: env.B: ", 3*servers); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = Parse("long.toml", []byte(text.String()+"[servers.last]\n\ncomand = \"x\"\n"))
	if want := fmt.Sprintf("long.toml:%d: server last: comand: ", 3*servers+3); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestFormats(t *testing.T) {
	for _, tt := range []struct {
		path, text string
		want       format
	}{
		{"a.toml", `{"mcpServers": {}}`, formatTOML},
		{"a.json", `servers = {}`, formatJSON},
		{".mcp.json", ``, formatJSON},
		{"a.JSONC", ``, formatJSON},
		{"a.yaml", ``, formatYAML},
		{"a.YML", `{}`, formatYAML},
		{"servers", ` {"mcpServers": {}}`, formatJSON},
		{"servers", "// comment\n{}", formatJSON},
		{"servers", "# comment\n[servers.a]", formatTOML},
		{"servers", "# comment\nurl = \"https://x\"", formatTOML},
		{"servers", "# comment\nurl: a=b", formatYAML},
		{"servers", "---\na", formatYAML},
		{"servers", "- name: a", formatYAML},
		{"servers", ``, formatTOML},
	} {
		if got := formatOf(tt.path, []byte(tt.text)); got != tt.want {
			t.Errorf("formatOf(%q, %q) = %v", tt.path, tt.text, got)
		}
	}
}

func TestPluginFilesCountFromTheFolderOfTheFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "wharf.toml")
	file, err := Parse(path, []byte("[plugins.a]\nfile = \"p/a.wasm\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := file.Plugins["a"].File, filepath.Join(dir, "p", "a.wasm"); got != want {
		t.Errorf("file is %s, want %s", got, want)
	}
}

func TestUserPath(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(t.TempDir(), "xdg"))
	path, err := UserPath()
	if err != nil || filepath.Base(path) != "wharf.toml" || filepath.Base(filepath.Dir(path)) != "wharf" {
		t.Errorf("UserPath() = %q, %v", path, err)
	}
}

func TestVia(t *testing.T) {
	for _, tt := range []struct {
		server Server
		want   string
	}{
		{Server{Command: "a"}, "stdio"},
		{Server{URL: "a"}, "http"},
		{Server{Transport: "sse", URL: "a"}, "sse"},
		{Server{Transport: "pigeon", Command: "a"}, "pigeon"},
		{Server{}, ""},
	} {
		if got := tt.server.Via(); got != tt.want {
			t.Errorf("%+v goes via %q, want %q", tt.server, got, tt.want)
		}
	}
}

func TestClosest(t *testing.T) {
	for typed, want := range map[string]string{
		"comand": "command", "commnad": "command", "COMMAND": "command", "messagecap": "message_cap",
		"url_": "url", "header": "headers", "arg": "args", "envs": "env", "colour": "", "": "",
		strings.Repeat("x", 1<<20): "",
	} {
		if got := closest(typed, serverKeys.names()); got != want {
			t.Errorf("closest(%.20q) = %q, want %q", typed, got, want)
		}
	}
}

// An entry that only says where a plugin runs needs no file.
func TestIsolation(t *testing.T) {
	for entry, want := range map[string]string{
		`isolation = "process"`:                      "",
		`isolation = "none"`:                         "",
		"isolation = \"process\"\nfile = \"p.wasm\"": "",
		`isolation = ""`:                             "file: is missing",
		`isolation = "thread"`:                       `isolation: "thread" is not known here; write "none" or "process"`,
		`isolation = true`:                           "isolation: ",
		`isolate = "process"`:                        "did you mean isolation?",
		"isolation = \"process\"\ndiscover = true":   `file: is missing; write file = "path/to/a.wasm", or, if the plugin is installed: wharf plugin grant a discover`,
	} {
		file, err := Parse("wharf.toml", []byte("[plugins.a]\n"+entry+"\n"))
		switch {
		case want == "" && (err != nil || !strings.Contains(entry, file.Plugins["a"].Isolation)):
			t.Errorf("%s: %+v, %v", entry, file, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", entry, err, want)
		}
	}
}
