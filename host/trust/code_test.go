package trust

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// written is a project with these files, by their names.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := repo(t)
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What an interpreter runs is pinned, however it is named, and one that is given
// nothing that can be pinned is warned of.
func TestPinsOfCode(t *testing.T) {
	dir := written(t, map[string]string{
		"server.js": "", "app/index.mjs": "", "app/__main__.py": "", "pack/package.json": `{"MAIN":"decoy.js","main":"lib/start"}`,
		"pack/lib/start.cjs": "", "pack/decoy.js": "", "mod/sub/__main__.py": "", "mod/__init__.py": "", "run.sh": "", "tool.py": "",
		"node_modules/.bin/server": "", "node_modules/@a/server/package.json": "{}", ".npmrc": "registry=http://evil.example",
		"bunfig.toml": `preload = ["./evil.ts"]`, "Main.class": "", "lib/Main.class": "", "lib/x.jar": "", "both/index.js": "", "both.js": "",
		"server.js.py": "", "node_modules/.bin/@x": "",
	})
	for _, tc := range []struct {
		command string
		want    string // the pins
		warned  bool   // that the code is not compared
	}{
		{"node server", "server.js", false},
		{"nodejs ./server", "server.js", false},
		{"node server.js", "server.js", false},
		{"node app", "app/index.mjs app/__main__.py", false},
		{"python3.12 app", "app/index.mjs app/__main__.py", false},
		{"node pack", "pack/package.json pack/lib/start.cjs", false},
		{"node pack/", "pack/package.json pack/lib/start.cjs", false},
		{"node both", "both.js both/index.js", false},
		{"node nothing", "", true},
		{"node", "", true},
		{"node /opt/server.js", "", true},
		{"node --require=./server nothing", "server.js", true},
		{"python -m mod.sub", "mod/sub/__main__.py mod/__init__.py", true}, // a cache of it may run
		{"python -mmod.sub", "mod/sub/__main__.py mod/__init__.py", true},
		{"python -m http.server", "", true},
		{"env A=b node server", "server.js", false},
		{"env -S node\u00a0server", "server.js", false},
		{"timeout 5 nice node server", "server.js", false},
		{"uv run python tool", "tool.py", false},
		{"npx -y tsx server", ".npmrc server.js", false},
		{"npx @a/server@1.2.3", ".npmrc node_modules/.bin/server node_modules/@a/server/package.json", false},
		{"bun nothing", "bunfig.toml", true},
		{"bun server", "server.js bunfig.toml", true}, // a script of that name may run
		{"bun ./server", "server.js bunfig.toml", false},
		{"bash -c ./run.sh;node\tserver.js|cat", "run.sh server.js", false},
		{"java -cp .:lib/x.jar Main", "lib/x.jar Main.class", false},
		{"java -cp lib:pack/lib Main", "Main.class lib/Main.class", false},
		{"bash a;run.sh", "", true},
		{"node -p lib/x.jar:run.sh", "", false},
		{"npx @x", ".npmrc node_modules/.bin/@x", false},
		{"uv", "", false},
		{"mcp-files server", "server.js", true},
		{"mcp-files --verbose notes", "", false},
	} {
		words := strings.Split(tc.command, " ")
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "\u00a0", " ") // of one argument
		}
		pins, err := questionBudget(t.Context()).code(dir, dir, "/usr/bin/"+words[0], words[1:], nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range pins.found {
			names = append(names, p.path)
		}
		want := strings.Fields(tc.want)
		slices.Sort(names)
		slices.Sort(want)
		if !slices.Equal(names, want) {
			t.Errorf("%s: pins %q, want %q", tc.command, names, want)
		}
		warned := slices.ContainsFunc(saidOf(words[0], words[1:], pins), isUnpinned)
		if warned != tc.warned {
			t.Errorf("%s: warned is %v", tc.command, warned)
		}
	}
}

func isUnpinned(warning string) bool {
	return strings.Contains(warning, "the code that this runs is not pinned")
}

func TestManifestThatCannotBeRead(t *testing.T) {
	dir := written(t, map[string]string{"package.json": `{"main": "a.js",}`, "a.js": ""})
	if _, err := questionBudget(t.Context()).code(dir, dir, "/usr/bin/node", []string{"."}, nil); err == nil || !strings.Contains(err.Error(), "package.json: which file it names") {
		t.Error(err)
	}
}

// The first error of a look stays, also where files above the folder are looked for.
func TestErrorStays(t *testing.T) {
	dir := repo(t, "a.js")
	b := listBudget(t.Context())
	b.bytes = 1
	if _, err := b.code(dir, dir, "/usr/bin/npx", []string{"./a.js"}, nil); !errors.Is(err, errBudget) {
		t.Error(err)
	}
	s := &scan{budget: listBudget(t.Context()), project: dir, dir: filepath.Join(dir, "a")}
	if s.above(nil); s.budget.tries != 0 {
		t.Errorf("%d names are tried for no file", s.budget.tries)
	}
}

// A budget is for all looks together: a file is read once, what is too large is left
// unread, and after that what is small is looked at all the same.
func TestBudget(t *testing.T) {
	dir := written(t, map[string]string{"small.js": "", "big.js": "", "huge.js": ""})
	for name, size := range map[string]int64{"big.js": listBytes - 10, "huge.js": listBytes + 1} {
		if err := os.Truncate(filepath.Join(dir, name), size); err != nil {
			t.Skip(err)
		}
	}
	b := listBudget(t.Context())
	for range 200 {
		if _, err := b.code(dir, dir, "/usr/bin/node", []string{"huge.js"}, nil); err == nil || !strings.Contains(err.Error(), "at most 64 MiB are") {
			t.Fatal(err)
		}
		if pins, err := b.code(dir, dir, "/usr/bin/node", []string{"big.js"}, nil); err != nil || len(pins.found) != 1 {
			t.Fatalf("%v, %v", pins, err)
		}
	}
	if read := int64(listBytes) - b.bytes; read != listBytes-10 {
		t.Errorf("%d bytes were read", read)
	}
	if pins, err := b.code(dir, dir, "/usr/bin/node", []string{"small.js"}, nil); err != nil || len(pins.found) != 1 {
		t.Errorf("%v, %v", pins, err)
	}
}

// The last byte and the last name of a budget may be used.
func TestBudgetToItsEnd(t *testing.T) {
	b := questionBudget(t.Context())
	for line := range maxAllNames / maxNames {
		b.tried = 0
		for range maxNames {
			if err := b.try(); err != nil {
				t.Fatalf("command line %d: %v", line, err)
			}
		}
		if line == 0 && b.try() == nil {
			t.Error("one name more is tried for a command line")
		} else if line == 0 {
			b.tries--
		}
	}
	b.tried = 0
	if b.try() == nil {
		t.Error("one name more is tried for all command lines")
	}
	dir := repo(t, "a.js", "b.js")
	b = listBudget(t.Context())
	b.bytes = int64(len("in a.js"))
	if pins, err := b.code(dir, dir, "/usr/bin/node", []string{"a.js"}, nil); err != nil || len(pins.found) != 1 {
		t.Errorf("%v, %v", pins, err)
	}
	if _, err := b.code(dir, dir, "/usr/bin/node", []string{"b.js"}, nil); !errors.Is(err, errBudget) {
		t.Error(err)
	}
}

func TestBudgetOfTime(t *testing.T) {
	dir := written(t, map[string]string{"a.js": ""})
	synctest.Test(t, func(t *testing.T) {
		for says, b := range map[string]*budget{"takes at most 2s": listBudget(t.Context()), "takes at most 15s": questionBudget(t.Context())} {
			b.until = time.Now().Add(b.time) // for the first of the two has slept since
			if _, err := b.code(dir, dir, "/usr/bin/node", []string{"a.js"}, nil); err != nil {
				t.Error(err)
			}
			time.Sleep(b.time + 1) // of the bubble's clock
			if _, err := b.code(dir, dir, "/usr/bin/node", []string{"a.js"}, nil); err == nil || !strings.Contains(err.Error(), says) {
				t.Error(err)
			}
		}
	})
}

// How many names are tried has a bound for a command line, and for all of a budget.
func TestBudgetOfNames(t *testing.T) {
	dir := repo(t)
	many := make([]string, 400)
	for i := range many {
		many[i] = fmt.Sprint("w", i)
	}
	b := questionBudget(t.Context())
	refused := 0
	for range 20 {
		if _, err := b.code(dir, dir, "/usr/bin/node", many, nil); err != nil {
			refused++
		}
	}
	if b.tries > maxAllNames+20 || refused == 0 {
		t.Errorf("%d names were tried, %d command lines refused", b.tries, refused)
	}
	if _, err := questionBudget(t.Context()).code(dir, dir, "/usr/bin/node", make([]string, maxNames), nil); err != nil {
		t.Error(err) // words that are nothing name nothing
	}
	for len(many) < maxNames {
		many = append(many, fmt.Sprint("w", len(many)))
	}
	if _, err := questionBudget(t.Context()).code(dir, dir, "/usr/bin/node", many, nil); err == nil || !strings.Contains(err.Error(), "names are tried") {
		t.Error(err)
	}
}

// However a project is made up, a look ends within its bounds, and pins nothing
// that lies elsewhere.
func FuzzPins(f *testing.F) {
	f.Add("node\n.", `{"main":"../x"}`)
	f.Add("python3\n-m\na..b", `{"main":"/"}`)
	f.Add("bash\n-c\n./a;'b", `[]`)
	f.Add("npx\n../../x@1", `{"main":"package.json","module":"."}`)
	f.Fuzz(func(t *testing.T, line, manifest string) {
		dir := written(t, map[string]string{"package.json": manifest, "x/package.json": manifest})
		words := strings.Split(line, "\n")
		b := questionBudget(t.Context())
		pins, _ := b.code(dir, dir, words[0], words[1:], nil)
		for _, p := range pins.found {
			if !filepath.IsLocal(p.path) {
				t.Errorf("pinned %q", p.path)
			}
		}
		if len(pins.found) > maxFiles+1 || b.tries > maxNames+1 {
			t.Errorf("%d pins of %d names", len(pins.found), b.tries)
		}
		saidOf(words[0], words[1:], pins)
	})
}
