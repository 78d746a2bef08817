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
		"bunfig.toml": `preload = ["./evil.ts"]`, "Main.class": "", "lib/x.jar": "", "both/index.js": "", "both.js": "",
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
		{"node --require=./server nothing", "server.js", false},
		{"python -m mod.sub", "mod/sub/__main__.py mod/__init__.py", false},
		{"python -mmod.sub", "mod/sub/__main__.py mod/__init__.py", false},
		{"python -m http.server", "", true},
		{"env A=b node server", "server.js", false},
		{"env -S node\u00a0server", "server.js", false},
		{"timeout 5 nice node server", "server.js", false},
		{"uv run python tool", "tool.py", false},
		{"npx -y tsx server", ".npmrc server.js", false},
		{"npx @a/server@1.2.3", ".npmrc node_modules/.bin/server node_modules/@a/server/package.json", false},
		{"bun nothing", "bunfig.toml", true},
		{"bun server", "server.js bunfig.toml", false},
		{"bash -c ./run.sh;node\tserver.js|cat", "run.sh server.js", false},
		{"java -cp .:lib/x.jar Main", "lib/x.jar Main.class", false},
		{"bash a;run.sh", "", false},
		{"node -p lib/x.jar:run.sh", "", false},
		{"npx @x", ".npmrc node_modules/.bin/@x", false},
		{"uv", "", false},
		{"mcp-files server", "", false},
	} {
		words := strings.Split(tc.command, " ")
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "\u00a0", " ") // of one argument
		}
		pins, err := questionBudget(t.Context()).fileHashes(dir, dir, "/usr/bin/"+words[0], words[1:])
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, p := range pins {
			names = append(names, p.path)
		}
		want := strings.Fields(tc.want)
		slices.Sort(names)
		slices.Sort(want)
		if !slices.Equal(names, want) {
			t.Errorf("%s: pins %q, want %q", tc.command, names, want)
		}
		warned := slices.ContainsFunc(commandWarnings(words[0], words[1:], pins), func(w string) bool { return strings.Contains(w, "no file of the project") })
		if warned != tc.warned {
			t.Errorf("%s: warned is %v", tc.command, warned)
		}
	}
}

func TestManifestThatCannotBeRead(t *testing.T) {
	dir := written(t, map[string]string{"package.json": `{"main": "a.js",}`, "a.js": ""})
	if _, err := questionBudget(t.Context()).fileHashes(dir, dir, "/usr/bin/node", []string{"."}); err == nil || !strings.Contains(err.Error(), "package.json: which file it names") {
		t.Error(err)
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
		if _, err := b.fileHashes(dir, dir, "/usr/bin/node", []string{"huge.js"}); err == nil || !strings.Contains(err.Error(), "at most 64 MiB are") {
			t.Fatal(err)
		}
		if pins, err := b.fileHashes(dir, dir, "/usr/bin/node", []string{"big.js"}); err != nil || len(pins) != 1 {
			t.Fatalf("%v, %v", pins, err)
		}
	}
	if read := int64(listBytes) - b.bytes; read != listBytes-10 {
		t.Errorf("%d bytes were read", read)
	}
	if pins, err := b.fileHashes(dir, dir, "/usr/bin/node", []string{"small.js"}); err != nil || len(pins) != 1 {
		t.Errorf("%v, %v", pins, err)
	}
}

// The last byte and the last name of a budget may be used.
func TestBudgetToItsEnd(t *testing.T) {
	b := questionBudget(t.Context())
	for line := range maxAllNames / maxNames {
		b.begin()
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
	b.begin()
	if b.try() == nil {
		t.Error("one name more is tried for all command lines")
	}
	dir := repo(t, "a.js", "b.js")
	b = listBudget(t.Context())
	b.bytes = int64(len("in a.js"))
	if pins, err := b.fileHashes(dir, dir, "/usr/bin/node", []string{"a.js"}); err != nil || len(pins) != 1 {
		t.Errorf("%v, %v", pins, err)
	}
	if _, err := b.fileHashes(dir, dir, "/usr/bin/node", []string{"b.js"}); !errors.Is(err, errBudget) {
		t.Error(err)
	}
}

func TestBudgetOfTime(t *testing.T) {
	dir := written(t, map[string]string{"a.js": ""})
	synctest.Test(t, func(t *testing.T) {
		for says, b := range map[string]*budget{"takes at most 2s": listBudget(t.Context()), "takes at most 15s": questionBudget(t.Context())} {
			b.until = time.Now().Add(b.time) // for the first of the two has slept since
			if _, err := b.fileHashes(dir, dir, "/usr/bin/node", []string{"a.js"}); err != nil {
				t.Error(err)
			}
			time.Sleep(b.time + 1) // of the bubble's clock
			if _, err := b.fileHashes(dir, dir, "/usr/bin/node", []string{"a.js"}); err == nil || !strings.Contains(err.Error(), says) {
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
		if _, err := b.fileHashes(dir, dir, "/usr/bin/node", many); err != nil {
			refused++
		}
	}
	if b.tries > maxAllNames+20 || refused == 0 {
		t.Errorf("%d names were tried, %d command lines refused", b.tries, refused)
	}
	if _, err := questionBudget(t.Context()).fileHashes(dir, dir, "/usr/bin/node", make([]string, maxNames)); err != nil {
		t.Error(err) // words that are nothing name nothing
	}
	if _, err := questionBudget(t.Context()).fileHashes(dir, dir, "/usr/bin/node", slices.Repeat([]string{"x"}, maxNames)); err == nil || !strings.Contains(err.Error(), "names are tried") {
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
		pins, _ := b.fileHashes(dir, dir, words[0], words[1:])
		for _, p := range pins {
			if !filepath.IsLocal(p.path) {
				t.Errorf("pinned %q", p.path)
			}
		}
		if len(pins) > maxFiles+1 || b.tries > maxNames+1 {
			t.Errorf("%d pins of %d names", len(pins), b.tries)
		}
		commandWarnings(words[0], words[1:], pins)
	})
}
