package trust

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// repo makes a project's folder with files, and returns it without links.
func repo(t *testing.T, files ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("in "+name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func pinsOf(t *testing.T, dir, cwd, command string, args ...string) string {
	t.Helper()
	pins, err := questionBudget(t.Context()).code(dir, cwd, command, args, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range pins.found {
		if p.hash != digestOf("in "+p.path) {
			p.path += " -> " + p.hash
		}
		names = append(names, p.path)
	}
	return strings.Join(names, " ")
}

func TestPinsOfWhatACommandNames(t *testing.T) {
	dir := repo(t, "server.js", "bin/tool", "lib/x.js", "lib/run", "a=b.js")
	outside := repo(t, "other.js")
	for _, tc := range []struct{ cwd, command, args, want string }{
		{dir, "/usr/bin/node", "server.js", "server.js"},
		{dir, "/usr/bin/node", "./lib/../server.js server.js", "server.js"},
		{dir, "/usr/bin/node", dir + "/server.js", "server.js"},
		{dir, "/usr/bin/node", "--require=./lib/x.js server.js", "lib/x.js server.js"},
		{dir, "/usr/bin/node", "--require lib/x.js", "lib/x.js"},
		{dir, "/usr/bin/node", "a=b.js", "a=b.js"},
		{dir, "/usr/bin/docker", "run a=b.js", "a=b.js"},
		{dir + "/lib", "/usr/bin/node", "../server.js x.js", "server.js lib/x.js"},
		{dir + "/lib", "/bin/sh", "-c run", "lib/run"},
		{dir, dir + "/bin/tool", "", "bin/tool"},
		{dir, "/usr/bin/node", outside + "/other.js ../../other.js missing.js lib . -y", ""},
		{outside, "/usr/bin/node", "other.js", ""},
		{dir, "/usr/bin/node", "server.js/x\x00 x\x00 " + strings.Repeat("x", 5000), ""},
	} {
		if got := pinsOf(t, dir, tc.cwd, tc.command, strings.Fields(tc.args)...); got != tc.want {
			t.Errorf("%s %s in %s: %q, want %q", tc.command, tc.args, tc.cwd, got, tc.want)
		}
	}
}

func TestPinsFollowLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs links")
	}
	dir, outside := repo(t, "real.js", "other.js"), repo(t, "real.js")
	link := filepath.Join(dir, "link.js")
	for target, want := range map[string]string{
		"real.js":            "real.js",
		"other.js":           "other.js",
		outside + "/real.js": "link.js -> " + outside + "/real.js",
		"nowhere.js":         "",
		"link.js":            "", // to itself: nothing can run it
	} {
		os.Remove(link)
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		pins, err := questionBudget(t.Context()).code(dir, dir, "/usr/bin/node", []string{"link.js"}, nil)
		got := ""
		for _, p := range pins.found {
			got = p.path
			if p.hash != digestOf("in "+p.path) {
				got += " -> " + p.hash
			}
		}
		if got != want && err == nil || err != nil && target != "link.js" {
			t.Errorf("%s: %q, error %v; want %q", target, got, err, want)
		}
	}
}

func TestWhatCannotBePinned(t *testing.T) {
	dir := repo(t, "server.js")
	huge := filepath.Join(dir, "huge")
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, maxBytes+1); err != nil {
		t.Skip(err)
	}
	if _, err := questionBudget(t.Context()).code(dir, dir, "/usr/bin/node", []string{"huge"}, nil); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Error(err)
	}
	var many []string
	for i := range maxFiles + 1 {
		many = append(many, fmt.Sprint("f", i))
	}
	dir = repo(t, many...)
	if pins, err := questionBudget(t.Context()).code(dir, dir, "/usr/bin/node", many[1:], nil); err != nil || len(pins.found) != maxFiles {
		t.Errorf("%d pins, %v", len(pins.found), err)
	}
	if _, err := questionBudget(t.Context()).code(dir, dir, "/usr/bin/node", many, nil); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		return // who may read everything
	}
	if err := os.Chmod(filepath.Join(dir, "f0"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := questionBudget(t.Context()).code(dir, dir, "/usr/bin/node", []string{"f0"}, nil); err == nil {
		t.Error("no error")
	}
}
