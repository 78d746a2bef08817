package tomledit

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/config"
)

// A change of a file, as text in txtar would be too quiet about spaces and line ends.
type change struct {
	name, before, after string
	do                  func([]byte) ([]byte, error)
}

func set(path string, value any) func([]byte) ([]byte, error) {
	return func(file []byte) ([]byte, error) { return SetKey(file, strings.Split(path, "/"), value) }
}

func remove(path string) func([]byte) ([]byte, error) {
	return func(file []byte) ([]byte, error) { return Remove(file, strings.Split(path, "/")...) }
}

func add(tables ...Table) func([]byte) ([]byte, error) {
	return func(file []byte) ([]byte, error) { return AddTables(file, tables...) }
}

func table(name string, keys ...Key) Table { return Table{Path: []string{"servers", name}, Keys: keys} }

var short = table("b", Key{"command", "npx"}, Key{"args", []string{"-y", "@a/b@1.0.0"}}, Key{"env", map[string]string{"A": "1"}})

const shortText = "[servers.b]\ncommand = \"npx\"\nargs = [\"-y\", \"@a/b@1.0.0\"]\nenv = { A = \"1\" }\n"

var changes = []change{
	{"add to nothing", "", shortText, add(short)},
	{
		"remove a table whose sub-table stands apart",
		"[servers.b]\na = 1\n# off = 1\n\n[servers.c]\n\n# of b\n[servers.b.env]\nA = '1'\n# about the rest\n\n[servers.d]\n",
		"[servers.c]\n\n# about the rest\n\n[servers.d]\n", remove("servers/b"),
	},
	{"add to comments", "# mine\n", "# mine\n\n" + shortText, add(short)},
	{"add behind a line without an end", "[servers.a]\ncommand = 'x' # c", "[servers.a]\ncommand = 'x' # c\n\n" + shortText, add(short)},
	{"add behind a blank line", "[servers.a]\n\n", "[servers.a]\n\n" + shortText, add(short)},
	{"add to CRLF", "[servers.a]\r\ncommand = 'x'\r\n", "[servers.a]\r\ncommand = 'x'\r\n\r\n" + strings.ReplaceAll(shortText, "\n", "\r\n"), add(short)},
	{"add behind a byte order mark", "\xef\xbb\xbf[servers.a]\n", "\xef\xbb\xbf[servers.a]\n\n" + shortText, add(short)},
	{"add behind an array of tables", "[[other]]\na = 1\n", "[[other]]\na = 1\n\n" + shortText, add(short)},
	{
		"add to an inline table", "servers = { a = { command = 'x' } } # c\n",
		"servers = { a = { command = 'x' }, b = { args = [\"-y\", \"@a/b@1.0.0\"], command = \"npx\", env = { A = \"1\" } } } # c\n", add(short),
	},
	{
		"add beside dotted keys", "servers.a.command = 'x'\n\n[plugins]\n",
		"servers.a.command = 'x'\n\n[plugins]\n\n" + shortText, add(short),
	},
	{
		"replace what is there",
		"# top\n[servers.b] # the name\n# before\ncommand   =   'npx' # same\ntimeout = '3s'\nargs = [\n '-y', # yes\n]\n\n[servers.b.env]\nA = '1'\nB = '2' # gone\n\n# c\n[servers.c]\n",
		"# top\n[servers.b] # the name\n# before\ncommand   =   'npx' # same\nargs = [\"-y\", \"@a/b@1.0.0\"]\n\n[servers.b.env]\nA = '1'\n\n# c\n[servers.c]\n", add(short),
	},
	{
		"long values", "", "# One line\n# two, 2 control.\n[servers.\"a b\"]\ncommand = 'C:\\x\\y.exe'\nargs = [\n  \"" + strings.Repeat("1", 40) + "\",\n  \"" + strings.Repeat("2", 40) + "\",\n]\n\n[servers.\"a b\".env]\nL = \"" + strings.Repeat("3", 80) + "\"\n",
		add(Table{
			Path: []string{"servers", "a b"}, Comment: "One line\ntwo, \u202e2 \x07control.",
			Keys: []Key{{"env", map[string]string{"L": strings.Repeat("3", 80)}}, {"command", `C:\x\y.exe`}, {"args", []string{strings.Repeat("1", 40), strings.Repeat("2", 40)}}},
		}),
	},
	{
		"values that must be escaped", "", "[servers.e]\na = \"\\u202Ex\\u0007\\n\\t\\\"\\\\'\"\nb = true\nc = 3\nd = 1.0\ne = []\nf = {}\n",
		add(table("e", Key{"a", "\u202ex\a\n\t\"\\'"}, Key{"b", true}, Key{"c", 3}, Key{"d", 1.0}, Key{"e", []string{}}, Key{"f", map[string]string{}})),
	},

	{"set a value", "[servers.a]\n  args = [ # one\n  'x', # two\n ] # three\nurl='u'\n", "[servers.a]\n  args = [\"y\"] # three\nurl='u'\n", set("servers/a/args", []string{"y"})},
	{
		"set an item of a list", "[servers.a]\n  args = [ # one\n  '-y', # two\n  'x', # three\n  \"\"\"z\"\"\",\n ] # four\n",
		"[servers.a]\n  args = [ # one\n  '-y', # two\n  \"y\", # three\n  \"w\",\n ] # four\n", set("servers/a/args", []string{"-y", "y", "w"}),
	},
	{"set an item of a list in an inline table", "a = { b = [ 'x','y' ] }\n", "a = { b = [ 'x',\"z\" ] }\n", set("a/b", []string{"x", "z"})},
	{"set an item that is no string", "a = [ 1, 'y' ] # c\n", "a = [\"x\", \"y\"] # c\n", set("a", []string{"x", "y"})},
	{"set a longer list", "a = [ 'x', # c\n]\n", "a = [\"x\", \"y\"]\n", set("a", []string{"x", "y"})},
	{"set the same value", "[servers.a]\nargs = [ 'x' ,]\n", "[servers.a]\nargs = [ 'x' ,]\n", set("servers/a/args", []string{"x"})},
	{"set a new key", "[servers.a]\n  url = 'u' # c\n# d\n\n[x]\n", "[servers.a]\n  url = 'u' # c\n  dir = \"d\"\n# d\n\n[x]\n", set("servers/a/dir", "d")},
	{"set a key of an empty table", "[servers.a] # c", "[servers.a] # c\ndir = \"d\"\n", set("servers/a/dir", "d")},
	{"set a key in an inline table", "[servers]\na = { env = {A = '1', B='2'} } # c\n", "[servers]\na = { env = {A = \"3\", B='2'} } # c\n", set("servers/a/env/A", "3")},
	{"set a new key in an inline table", "[servers]\na = { env = {A = '1' }}\n", "[servers]\na = { env = {A = '1', C = \"3\" }}\n", set("servers/a/env/C", "3")},
	{"set a key in an empty inline table", "[servers]\na = { env = { } }\n", "[servers]\na = { env = { C = \"3\" } }\n", set("servers/a/env/C", "3")},
	{"set a dotted key", "[servers]\na.env.A = '1' # c\nb.url = 'u'\n", "[servers]\na.env.A = '1' # c\na.env.B = \"2\"\nb.url = 'u'\n", set("servers/a/env/B", "2")},
	{"set a key of a table without a name", "# x\n\n# c\n[servers.a.env]\nA = '1'\n", "# x\n\n[servers.a]\nurl = \"u\"\n\n# c\n[servers.a.env]\nA = '1'\n", set("servers/a/url", "u")},
	{"set a key of a table that is missing", "[servers.a]\nurl = 'u'\n[z]\n", "[servers.a]\nurl = 'u'\nheaders = { X = \"y\" }\n[z]\n", set("servers/a/headers/X", "y")},
	{"set a table of a missing one", "[z]\n", "[z]\n\n[servers.a]\nurl = \"u\"\n", set("servers/a/url", "u")},
	{
		"set a long table", "[servers.a]\nurl = 'u' # c\n# d\n[z]\n", "[servers.a]\nurl = 'u' # c\n\n[servers.a.headers]\nX = \"" + strings.Repeat("y", 80) + "\"\n\n# d\n[z]\n",
		set("servers/a/headers", map[string]string{"X": strings.Repeat("y", 80)}),
	},
	{"set a key of the file", "# c\n[z]\n", "a = 1\n\n# c\n[z]\n", set("a", 1)},
	{"set a key behind those of the file", "b = 2\n\n# c\n[z]\n", "b = 2\na = 1\n\n# c\n[z]\n", set("a", 1)},
	{"set quoted keys", "[servers.'a b']\n\"x.y\" = 1\n", "[servers.'a b']\n\"x.y\" = 2\n", set("servers/a b/x.y", 2)},
	{"set a table for a value", "[a]\nb = 'x' # c\n", "[a]\nb = { c = 1 } # c\n", set("a/b", map[string]any{"c": 1})},

	{"remove a table", "# file\n\n# a\n[servers.a]\nx = 1 # c\n# d\n[servers.a.env]\nA = 1\n# e\n\n# f\n\n# b\n[servers.b]\n", "# file\n\n# f\n\n# b\n[servers.b]\n", remove("servers/a")},
	{"remove the first table", "# file\n[servers.a]\nx = 1\n\n[servers.b]\n", "# file\n\n[servers.b]\n", remove("servers/a")},
	{"remove the last table", "[servers.a]\nx = 1\n\n\n# b\n[servers.b]\ny = 1\n\n", "[servers.a]\nx = 1\n", remove("servers/b")},
	{"remove the only table", "[servers.a]\nx = 1\n", "", remove("servers/a")},
	{"remove a table in two places", "[servers.a]\nx = 1\n\n[servers.b]\n\n[servers.a.env]\nA = 1\n", "[servers.b]\n", remove("servers/a")},
	{"remove a table of CRLF", "[servers.a]\r\nx = 1\r\n\r\n[servers.b]\r\n", "[servers.b]\r\n", remove("servers/a")},
	{"remove one before an array", "[servers.a]\nx = 1\n# of z\n[[z]]\n", "# of z\n[[z]]\n", remove("servers/a")},
	{"remove dotted keys", "[servers]\na.x = 1 # c\n# of b\nb.x = 2\na.y.z = 1\n", "[servers]\n# of b\nb.x = 2\n", remove("servers/a")},
	{"remove an inline table", "[servers]\na = { x = 1 }\nb = { }\n", "[servers]\nb = { }\n", remove("servers/a")},
	{"remove the first of an inline table", "servers = { a = { x = 1 }, b = { } } # c\n", "servers = { b = { } } # c\n", remove("servers/a")},
	{"remove the last of an inline table", "servers = { a = { x = 1 }, b = { } }\n", "servers = { a = { x = 1 } }\n", remove("servers/b")},
	{"remove in the middle of an inline table", "s = { a = 1, b.c = 2, b.d = 3, e = 4 }\n", "s = { a = 1, e = 4 }\n", remove("s/b")},
	{"remove what is not there", "[servers.a]\n", "[servers.a]\n", remove("servers/b")},
	{"remove a key", "[servers.a]\n# c\nx = 1 # d\ny = 2\n", "[servers.a]\n# c\ny = 2\n", remove("servers/a/x")},
	{"remove beside what looks like a comment", "[servers.a]\nx = '''\n# no\n'''\n[servers.b]\ny = 1\n", "[servers.a]\nx = '''\n# no\n'''\n", remove("servers/b")},
}

func TestChanges(t *testing.T) {
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.do([]byte(c.before))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.after {
				t.Errorf("got:\n%q\nwant:\n%q", got, c.after)
			}
		})
	}
}

// What an edit does not understand is refused with a sentence, and never half done.
func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name, before, says string
		do                 func([]byte) ([]byte, error)
	}{
		{"no TOML", "[servers", "the file is not TOML", remove("servers/a")},
		{"UTF-16", "\xff\xfe[\x00a\x00]\x00", "the file is not TOML", remove("a")},
		{"an array of tables", "[[servers]]\nname = 'a'\n", "servers.b: the file has an array of tables there; change it by hand", add(short)},
		{"a value in place of a table", "servers = 1\n", "servers.b: it is written in a way", add(short)},
		{"a table in place of a value", "[servers.a.url]\nx = 1\n", "servers.a.url: it is a table there", set("servers/a/url", "u")},
		{"no name", "", "that is no name", func(b []byte) ([]byte, error) { return Remove(b) }},
		{"no UTF-8", "", "not UTF-8", set("a", "\xff")},
		{"a name that is not UTF-8", "", "that is no name", set("\xff", "a")},
		{"a value of another kind", "", "a.b: a value of type struct {} is not written", add(Table{Path: []string{"a"}, Keys: []Key{{"b", struct{}{}}}})},
		{"a key twice", "", "a key twice", add(table("a", Key{"x", 1}, Key{"x", 2}))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := tc.do([]byte(tc.before))
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%q, %v; want an error that says %q", got, err, tc.says)
			}
			var e *Error
			if !errors.As(err, &e) {
				t.Errorf("%T is no *Error", err)
			}
		})
	}
}

func TestText(t *testing.T) {
	if got, err := Text(short); got != shortText || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// TestLines reads the lines of a table as they stand in a file.
func TestLines(t *testing.T) {
	for file, want := range map[string]string{
		"\xef\xbb\xbf[servers.a]\n\n# b\n[servers.b] # x\nenv = { A = '1' } # y\r\n\n[servers.c]\n\n[servers.b.tls]\nca = 'x'\n": "# b\n[servers.b] # x\nenv = { A = '1' } # y\r\n[servers.b.tls]\nca = 'x'\n",
		"servers.b.command = 'x'\nservers.a.command = 'y'\n":                                                                     "servers.b.command = 'x'\n",
		"servers = { b = { command = 'x' } } # all\n":                                                                            "servers = { b = { command = 'x' } } # all\n",
		"[servers]\nb = { command = 'x' }\na = {}\n":                                                                             "b = { command = 'x' }\n",
		"[servers.a]\n": "",
	} {
		if got, err := Lines([]byte(file), "servers", "b"); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", file, got, err, want)
		}
	}
	if _, err := Lines([]byte("["), "servers"); err == nil {
		t.Error("a file that is not TOML has lines")
	}
}

func TestDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"": 0, "0": -1, "1m": time.Minute, "1h": time.Hour, "1h10m": 70 * time.Minute, "1h0m1s": time.Hour + time.Second,
		"10s": 10 * time.Second, "1m30s": 90 * time.Second, "500ms": time.Second / 2, "10h": 10 * time.Hour,
	} {
		if got := duration(d); got != want {
			t.Errorf("%v is written as %q, want %q", d, got, want)
		}
	}
}

// What is written of an entry is read back as that entry.
func TestServer(t *testing.T) {
	s := config.Server{
		Name: "a", Command: "npx", Args: []string{"-y", "x"}, Dir: "/d", Env: map[string]string{"A": "${secret:a}"},
		Registry: config.Registry{Address: "https://r.example", Name: "a/b", Version: "1", SHA256: strings.Repeat("a", 64)},
	}
	text, err := Text(Server(s))
	if err != nil {
		t.Fatal(err)
	}
	f, err := config.Parse("wharf.toml", []byte(text))
	if err != nil || len(f.Servers) != 1 {
		t.Fatalf("%s\n%v", text, err)
	}
	if got, err := Text(Server(f.Servers[0])); got != text || err != nil || !reflect.DeepEqual(f.Servers[0].Registry, s.Registry) {
		t.Errorf("%s, %v", got, err)
	}
}
