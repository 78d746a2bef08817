package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documents are where the behaviours come from, and how many each has.
var documents = []struct {
	name      string
	behaviour int
}{{"S0", 55}, {"S1", 18}, {"S2", 32}, {"S3", 13}, {"S4", 33}, {"S5", 36}, {"S6", 17}}

var (
	// A cell of the table names a test like `rpc/call_test.go: TestCalls`, and a
	// script by its file.
	namedTest   = regexp.MustCompile("`([^`]+_test\\.go): ((?:Test|Fuzz)\\w+)`")
	namedScript = regexp.MustCompile("`([^`]+\\.txtar)`")
	namedBadly  = regexp.MustCompile(`_test\.go|\.txtar`)
)

// TestBehaviour holds BEHAVIOUR.md together.
func TestBehaviour(t *testing.T) {
	text, err := os.ReadFile("BEHAVIOUR.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, d := range documents {
		for n := range d.behaviour {
			want = append(want, fmt.Sprintf("%s-%02d", d.name, n+1))
		}
	}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| S") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if len(cells) != 3 || slices.Contains(cells, "") {
			t.Errorf("%.80q: want an id, a behaviour and what holds it", line)
			continue
		}
		got = append(got, cells[0])
		checkHold(t, cells[0], cells[2])
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows are %d, want %d in order: %v", len(got), len(want), got)
	}
}

// checkHold looks for what a cell says that holds a behaviour.
func checkHold(t *testing.T, id, cell string) {
	t.Helper()
	rest := cell
	names := 0
	for _, test := range namedTest.FindAllStringSubmatch(cell, -1) {
		names, rest = names+1, strings.Replace(rest, test[0], "", 1)
		source, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(test[1])))
		if err != nil {
			t.Errorf("%s: %v", id, err)
		} else if !strings.Contains(string(source), "\nfunc "+test[2]+"(") {
			t.Errorf("%s: there is no %s in %s", id, test[2], test[1])
		}
	}
	for _, script := range namedScript.FindAllStringSubmatch(cell, -1) {
		names, rest = names+1, strings.Replace(rest, script[0], "", 1)
		if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(script[1]))); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	switch {
	case namedBadly.MatchString(rest):
		t.Errorf("%s: names a test in another way: %s", id, rest)
	case strings.Contains(cell, "not yet"):
		t.Errorf("%s: says not yet of what must be there", id)
	case names == 0:
		t.Errorf("%s: names no test", id)
	}
}
