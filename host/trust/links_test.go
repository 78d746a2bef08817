package trust

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// linked is a project with links, from their names to where they lead.
func linked(t *testing.T, files, links map[string]string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("needs links")
	}
	dir := written(t, files)
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// chain are n links, each of which leads to the next over very many folders; the last
// one leads to server.js.
func chain(n int) map[string]string {
	links := map[string]string{fmt.Sprint("l", n): "server.js"}
	for i := range n {
		links[fmt.Sprint("l", i)] = strings.Repeat("d/../", 800) + fmt.Sprint("l", i+1)
	}
	return links
}

// Each step over a link is charged, and what no system would follow is not followed.
func TestChainsOfLinksAreCharged(t *testing.T) {
	dir := linked(t, map[string]string{"server.js": "", "d/x": ""}, chain(254))
	for _, name := range []string{"l0", "l220", "l252"} {
		b := questionBudget(t.Context())
		pins, err := b.code(dir, dir, "/usr/bin/node", []string{name}, nil)
		if b.tries > maxNames+1 {
			t.Errorf("%s: %d steps", name, b.tries)
		}
		if followed := name == "l252"; followed != (len(pins.found) == 1) || followed != (err == nil) || err != nil && !errors.Is(err, errBudget) {
			t.Errorf("%s: pins %v, error %v", name, pins, err)
		}
	}
}

// So many links behind a name are followed, and one more leads nowhere.
func TestMostLinks(t *testing.T) {
	links := map[string]string{"l1": "server.js"}
	for n := 2; n <= maxLinks+1; n++ {
		links[fmt.Sprint("l", n)] = fmt.Sprint("l", n-1)
	}
	dir := linked(t, map[string]string{"server.js": ""}, links)
	for n, want := range map[int]string{1: filepath.Join(dir, "server.js"), maxLinks: filepath.Join(dir, "server.js"), maxLinks + 1: ""} {
		if got, err := questionBudget(t.Context()).real(dir, filepath.Join(dir, fmt.Sprint("l", n))); got != want || err != nil {
			t.Errorf("%d links lead to %q, %v", n, got, err)
		}
	}
}

// A link that goes round leads nowhere, and costs next to nothing.
func TestLinksThatNoSystemFollows(t *testing.T) {
	dir := linked(t, map[string]string{"server.js": ""}, map[string]string{"loop": "loop", "a": "b", "b": "./a"})
	if got := pinsOf(t, dir, dir, "/usr/bin/node", "loop", "a", "b/x"); got != "" {
		t.Error(got)
	}
}

// Behind a link, a parent folder is another one for the system than for a program that
// shortens paths by their letters.
func TestParentsOfLinks(t *testing.T) {
	dir := linked(t, map[string]string{"x.js": "in x.js", "deep/x.js": "in deep/x.js", "deep/er/y": ""}, map[string]string{"link": "deep/er"})
	if got := pinsOf(t, dir, dir, "/usr/bin/node", "link/../x.js"); got != "deep/x.js x.js" {
		t.Error(got)
	}
}

// A look ends with the context of its caller.
func TestLooksAreCalledOff(t *testing.T) {
	dir := linked(t, map[string]string{"server.js": "", "d/x": ""}, chain(2))
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	cancel(interrupted)
	for _, b := range []*budget{questionBudget(ctx), listBudget(ctx)} {
		if _, err := b.code(dir, dir, "/usr/bin/node", slices.Repeat([]string{"l0", "server.js"}, 10), nil); !errors.Is(err, interrupted) || b.tries > 1 {
			t.Errorf("%d names, %v", b.tries, err)
		}
	}
}
