package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/policy"
)

func TestAccess(t *testing.T) {
	f, err := Parse("w.toml", []byte("[access.b]\nmatch = [\"*\"]\n\n[access.a]\nmatch = [\"client:x\", \"bridge\"]\nallow = []\ndeny = [\"files/*\"]\n"))
	want := []policy.Table{
		{Name: "b", Match: []string{"*"}, Place: "w.toml:1"},
		{Name: "a", Match: []string{"client:x", "bridge"}, Allow: []string{}, Deny: []string{"files/*"}, Place: "w.toml:4"},
	}
	if err != nil || !reflect.DeepEqual(f.Access, want) {
		t.Errorf("%+v, %v", f.Access, err)
	}
	for text, want := range map[string]string{
		"[access.a]\n":                                       `w.toml:1: access a: match: names no caller`,
		"[access.a]\nmatch = []\n":                           `match: names no caller`,
		"[access.a]\nmatch = [\"*\", \"me\"]\n":              `w.toml:2: access a: match[1]: "me": expected "*", "local"`,
		"[access.a]\nmatch = [\"*\"]\ndeny = [\"tool:x\"]\n": `w.toml:3: access a: deny[0]: "tool:x": there is no "tool:"`,
		"[access.a]\nmatch = [\"*\"]\nallow = [\"f/\"]\n":    `allow[0]: "f/" names nothing`,
		"[access.a]\nmatch = [\"*\"]\ndenies = []\n":         `did you mean deny?`,
		"[access]\nmatch = [\"*\"]\n":                        `access match: expected a table`,
		"[access.\"a b\"]\nmatch = [\"*\"]\n":                `is no name`,
		"access = 7\n":                                       `expected tables`,
		fmt.Sprintf("[access.a]\nmatch = [\"*\"]\ndeny = [%s]\n", strings.Repeat(`"f/x",`, maxAccess)): "may have 10000 together",
	} {
		if _, err := Parse("w.toml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v\nwant %s", text, err, want)
		}
	}
}

// The log is named by its whole path, also where the configuration is not.
func TestAudit(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]*Audit{
		"":          nil,
		"[audit]\n": {File: filepath.Join(here, "x", "audit.jsonl")},
		"[audit]\nfile = \"a/b\"\nargs = \"full\"\nrequired = true\n": {File: filepath.Join(here, "x", "a", "b"), Full: true, Required: true},
		"[audit]\nargs = \"hash\"\n":                                  {File: filepath.Join(here, "x", "audit.jsonl")},
	} {
		if f, err := Parse(filepath.Join("x", "w.toml"), []byte(text)); err != nil || !reflect.DeepEqual(f.Audit, want) {
			t.Errorf("%q: %+v, %v", text, f, err)
		}
	}
	for _, text := range []string{"[audit]\nargs = \"some\"\n", "audit = true\n", "[audit]\npath = \"x\"\n"} {
		if _, err := Parse("w.toml", []byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// The tables of a project are those of its files of Wharf's own that can be used, the nearest first.
func TestDiscoverAccess(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(dir, "sub")
	for path, text := range map[string]string{
		filepath.Join(dir, ".git", "x"):            "",
		filepath.Join(dir, "wharf.toml"):           "[access.far]\nmatch = [\"*\"]\ndeny = [\"*\"]\n",
		filepath.Join(sub, "wharf.toml"):           "[access.near]\nmatch = [\"*\"]\n[servers.x]\ncommand = \"x\"\n",
		filepath.Join(sub, "in", "wharf.toml"):     "[servers.access]\ncommand = 1\n",
		filepath.Join(sub, "in", "deep", "a", "b"): "",
		filepath.Join(sub, "in", ".mcp.json"):      "{}",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	files, err := DiscoverAccess(filepath.Join(sub, "in", "deep"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tables := range files {
		for _, table := range tables {
			got = append(got, table.Name+" "+table.Place)
		}
	}
	want := []string{"near " + filepath.Join(sub, "wharf.toml") + ":1", "far " + filepath.Join(dir, "wharf.toml") + ":1"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Discover(filepath.Join(sub, "in")); len(got.Servers) != 1 {
		t.Errorf("found the servers %+v", got.Servers)
	}
}

// Rules that cannot be read are an error: to go on without them would allow what they deny.
func TestDiscoverAccessOfABrokenFile(t *testing.T) {
	for text, want := range map[string]string{
		"[access.a]\n": `access a: match: names no caller`,
		"<<<<<<< HEAD\n[ access.a]\nmatch = [\"*\"]\n":         `wharf.toml:1: is a conflict marker of git`,
		"access.a.match = [\"*\"]\n[servers.s]\ncommand = 1\n": `server s: command: expected a text`,
		"[[access.a]]\nmatch = [\"*\"]\n":                      `access a: expected a table of keys and values, not a list`,
		" [ [\"access\"]]\nmatch = [\"*\"]\n":                  `is not TOML`,
		"[[access]]\nmatch = [\"*\"]\n":                        `access: expected tables, not a list`,
		"[\x00a\x00c\x00c\x00e\x00s\x00s\x00.\x00a\x00]\x00":   `is in UTF-16`,
		"[access.a]\n" + strings.Repeat("#", maxProjectFile):   `it is larger than 128 KiB`,
		"# access is for all\n[servers.s]\ncommand = 1\n":      "",
		"[servers.access]\ncommand = 1\n":                      "",
		"access_token = \n":                                    "",
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "wharf.toml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := DiscoverAccess(folder)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}
