package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/internal/testenv"
)

// root is the repository, seen from this folder.
const root = "../.."

// cacheHome is where the reader's caches are, before the tests get their own.
var cacheHome = os.Getenv("XDG_CACHE_HOME")

// runnable are the beginnings of the commands that are run here. They need
// nothing from the network, no servers of the reader's own, and no second run
// of these tests.
var runnable = []string{"go run ./", "go build ", "wharf version", "wharf servers", "wharf tools demo", "wharf tools --search", "wharf call demo", "wharf add --yes"}

// canRun looks at a command behind the variables that are set for it.
func canRun(command string) bool {
	words := strings.Fields(command)
	for len(words) > 1 && strings.Contains(words[0], "=") {
		words = words[1:]
	}
	command = strings.Join(words, " ")
	return slices.ContainsFunc(runnable, func(prefix string) bool { return strings.HasPrefix(command, prefix) })
}

// guides returns the text of the README and of the page for authors of plugins.
func guides(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for _, name := range []string{"README.md", "docs/PLUGINS.md"} {
		page, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		text.Write(page)
	}
	return text.String()
}

// TestReadme runs the commands that the README and docs/PLUGINS.md show, in a copy of the
// tree, as a user would after cloning it. One that both show is run once.
func TestReadme(t *testing.T) {
	var commands []string
	for _, command := range shellCommands(guides(t)) {
		if !slices.Contains(commands, command) {
			commands = append(commands, command)
		}
	}
	for _, promised := range []string{"go run ./cmd/wharf call demo echo message=hello", "go test ./..."} {
		if !slices.Contains(commands, promised) {
			t.Errorf("no sh block has the command %q", promised)
		}
	}
	if testing.Short() {
		t.Skip("building the tree anew takes its time")
	}
	tree := copyTree(t)
	for _, command := range commands {
		t.Run(command, func(t *testing.T) {
			if !canRun(command) {
				t.Skip("needs more than the tree, or is this test")
			}
			if strings.Contains(command, "wharf plugin ") {
				testenv.NeedsLong(t) // TestNewPluginsInGo has the same without building Wharf anew
			} else if strings.HasPrefix(command, "go build -o bin/wharf ") && !testenv.Long() {
				playWharf(t, tree) // go run has just built the same program
				return
			} else if !testenv.Long() {
				t.Setenv("GOFLAGS", "-trimpath") // what is built does not depend on the folder, and go has it already
			}
			runInTree(t, tree, command)
		})
	}
}

// playWharf puts the program of these tests, which plays wharf under that name, where a
// command would have built it.
func playWharf(t *testing.T, tree string) {
	t.Helper()
	wharf := filepath.Join(tree, "bin", "wharf")
	program, err := exec.LookPath("wharf")
	if err == nil {
		err = os.RemoveAll(wharf) // where make has built one, the copy has it too
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(wharf), 0o777)
	}
	if err == nil {
		err = os.Symlink(program, wharf)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func runInTree(t *testing.T, tree, command string) {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "sh", "-euc", command)
	shell.Dir = tree
	shell.Env = append(os.Environ(),
		"XDG_CONFIG_HOME="+t.TempDir(), "XDG_CACHE_HOME="+cacheHome)
	var stderr strings.Builder
	shell.Stderr = &stderr
	stdout, err := shell.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	if strings.Contains(command, "message=hello") && !strings.Contains(string(stdout), "hello") {
		t.Errorf("stdout %q", stdout)
	}
}

// copyTree copies what a clone has: all but what lies in folders that begin
// with a dot.
func copyTree(t *testing.T) string {
	t.Helper()
	source, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(t.TempDir(), "wharf")
	if err := os.CopyFS(tree, clone{os.DirFS(source)}); err != nil {
		t.Fatal(err)
	}
	return tree
}

// clone is a file system without the folders that begin with a dot.
type clone struct{ fs.FS }

func (c clone) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(c.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return e.IsDir() && strings.HasPrefix(e.Name(), ".")
	}), err
}

// shellCommands returns the commands of a document's blocks that are marked as
// sh, one a line; comments go, and lines that end in a backslash are joined.
func shellCommands(document string) []string {
	var commands []string
	inside := false
	for _, text := range strings.Split(strings.ReplaceAll(document, "\\\n", ""), "\n") {
		text = strings.TrimSpace(text)
		switch {
		case strings.HasPrefix(text, "```"):
			inside = !inside && text == "```sh"
		case inside:
			text, _, _ = strings.Cut(text, " #")
			if text = strings.TrimSpace(text); text != "" && !strings.HasPrefix(text, "#") {
				commands = append(commands, text)
			}
		}
	}
	return commands
}

func TestShellCommands(t *testing.T) {
	document := "# Title\n```sh\n# comment\ngo build ./... # all\n\n  go test \\\n./...\n```\ntext\n```toml\nkey = 1\n```\n```sh\nlast\n```\n"
	want := []string{"go build ./...", "go test ./...", "last"}
	if got := shellCommands(document); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
