package words

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// TestSplit compares the words with those of a real shell, where there is one.
func TestSplit(t *testing.T) {
	sh, _ := exec.LookPath("sh")
	for line, want := range map[string]string{
		"":                            `[]`,
		"  a  b\tc ":                  `["a" "b" "c"]`,
		`echo message='a  b' c="d e"`: `["echo" "message=a  b" "c=d e"]`,
		`'it'\''s' "a\"b\\c\d"`:       `["it's" "a\"b\\c\\d"]`,
		`'' ""x`:                      `["" "x"]`,
		`a\ b \' \\`:                  `["a b" "'" "\\"]`,
		"a #b c":                      `["a"]`,
		"a#b '#c' \\#d":               `["a#b" "#c" "#d"]`,
		"'# a'\\\n#":                  "[\"# a\\n#\"]",
		"é 日本":                        `["é" "日本"]`,
		`'$a' '*' "it's"`:             `["$a" "*" "it's"]`,
	} {
		words, err := Split(line)
		if got := fmt.Sprintf("%q", words); err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", line, got, err, want)
		}
		if sh == "" || strings.Contains(line, "\\\n") { // which a shell leaves out, and no line here has
			continue
		}
		out, err := exec.Command(sh, "-c", "[ $# = 0 ] && set -- "+line+"\nfor w; do printf '%s\\0' \"$w\"; done").Output()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(append(words, ""), "\x00"); got != string(out) {
			t.Errorf("%q: %q, and of %s %q", line, got, sh, out)
		}
	}
	for line, want := range map[string]string{`a 'b c`: `["a" "b c"]`, `a "b\`: `["a" "b"]`, `"`: `[""]`, `a\`: `["a"]`} {
		if words, err := Split(line); !errors.Is(err, ErrOpen) || fmt.Sprintf("%q", words) != want {
			t.Errorf("%q: %q, %v, want %s", line, words, err, want)
		}
	}
}

// TestSplitAround keeps values as they are, where a word or its value begins and nowhere else.
func TestSplitAround(t *testing.T) {
	angled := func(line string, at int) int { // <…> without a > in it
		if line[at] != '<' {
			return 0
		}
		return strings.IndexByte(line[at:], '>') + 1
	}
	for line, want := range map[string]string{
		`a <"b  c"> k=<'d'>`:  `["a" "<\"b  c\">" "k=<'d'>"]`,
		`a<"b"> '<"c">' <"d"`: `["a<b>" "<\"c\">" "<d"]`,
		`k="=<'d'>" # <"e">`:  `["k==<'d'>"]`,
	} {
		words, err := SplitAround(line, angled)
		if got := fmt.Sprintf("%q", words); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", line, got, err, want)
		}
	}
}

// TestLast finds where the word begins that a line ends with.
func TestLast(t *testing.T) {
	for line, want := range map[string]string{
		"":              `[] "" 0`,
		"a ":            `["a"] "" 2`,
		"a b":           `["a"] "b" 2`,
		`a n=New\ Y`:    `["a"] "n=New Y" 2`,
		`a n='New Y`:    `["a"] "n=New Y" 2`,
		`a\ b "c d" e\`: `["a b" "c d"] "e" 11`,
		`a "`:           `["a"] "" 2`,
		"a #b":          `["a"] "" 4`,
	} {
		before, last, begins := Last(line)
		if got := fmt.Sprintf("%q %q %d", before, last, begins); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}

// FuzzSplit: a word in single quotes comes back.
func FuzzSplit(f *testing.F) {
	f.Add("a b", "c")
	f.Add("'", "\\")
	f.Fuzz(func(t *testing.T, a, b string) {
		line := ""
		for _, word := range []string{a, b} {
			line += "'" + strings.ReplaceAll(word, "'", `'\''`) + "' "
		}
		if words, err := Split(Escape(a)); a != "" && !strings.ContainsAny(a, "\r\n") && (err != nil || len(words) != 1 || words[0] != a) {
			t.Errorf("%q is escaped as %q", a, Escape(a))
		}
		words, err := Split(line)
		if err != nil || len(words) != 2 || words[0] != a || words[1] != b {
			t.Errorf("%q became %q, %v", line, words, err)
		}
		_, _ = Split(a)
	})
}
