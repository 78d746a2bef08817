package wharf_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// namedFunction is how CONTRIBUTING.md names a function: `host/session.go: Session.CallTool`.
var namedFunction = regexp.MustCompile("`([\\w/]+\\.go): (?:(\\w+)\\.)?(\\w+)`")

// TestWalks holds the walks of CONTRIBUTING.md to the tree: each function that they
// name is in the file that they name.
func TestWalks(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	named := namedFunction.FindAllStringSubmatch(string(text), -1)
	if len(named) == 0 {
		t.Fatal("CONTRIBUTING.md names no function")
	}
	for _, n := range named {
		file, receiver, name := n[1], n[2], n[3]
		source, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Errorf("%s: %v", n[0], err)
			continue
		}
		want := `(?m)^func ` + name + `[(\[]`
		if receiver != "" {
			want = `(?m)^func \((\w+ )?\*?` + receiver + `\) ` + name + `\(`
		}
		if !regexp.MustCompile(want).Match(source) {
			t.Errorf("%s: no such function; there are %s", n[0], strings.Join(regexp.MustCompile(`(?m)^func .*?\)? ?\w+\(`).FindAllString(string(source), -1), " "))
		}
	}
}
