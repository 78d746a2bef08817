package cleantext

import (
	"strings"
	"testing"
)

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain text":           "plain text",
		"tab\tnew\nline\r":     `tab\tnew\nline\r`,
		"\x1b]0;title\x07":     `\x1b]0;title\a`,
		"\u009b31m":            `\u009b31m`,
		"\u2066a\u2069":        `\u2066a\u2069`,
		"a\u00a0b\u3000c":      `a\u00a0b\u3000c`,
		"\u200b\u200d\ufeff":   `\u200b\u200d\ufeff`,
		"\U000e0041\U000e007f": `\U000e0041\U000e007f`, // a tag, which spells text that is not seen
		"\ufe0f\U000e0100":     `\ufe0f\U000e0100`,
		"\u115f\uffa0\u2800":   `\u115f\uffa0\u2800`,
		"\u2028\u2029\u034f":   `\u2028\u2029\u034f`,
		"bad\xff\xc3":          `bad\xff\xc3`,
		"\ufffd":               "\ufffd",
		"日本 é ß 🚢":             "日本 é ß 🚢",
		"e\u0301":              `e\u0301`, // a mark
		"\u05e9\u0644\u200f":   `\u05e9\u0644\u200f`,
		"\U0001e900":           `\U0001e900`,
		"a  b        c":        "a  b        c",
		"a         b":          `a\x20{9}b`,
		"it's":                 "it's",
		"\ue000\U0010ffff":     `\ue000\U0010ffff`,
		"\x00":                 `\x00`,
	} {
		if got := Visible(text); got != want {
			t.Errorf("Visible(%q) = %s, want %s", text, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\u202eb\x1b[2J\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := Visible(text)
		for _, r := range got {
			if !isName(r) {
				t.Errorf("Visible(%q) holds %U", text, r)
			}
		}
		if again := Visible(got); again != got {
			t.Errorf("Visible(%q) = %q, and of that %q", text, got, again)
		}
	})
}

func TestReadable(t *testing.T) {
	for text, want := range map[string]string{
		"two\r\nlines\n\n\tand":           "two\nlines\n\n    and",
		"\x1b[2J\u202e\u3164":             `\x1b[2J\u202e\u3164`,
		"שלום e\u0301\u0302":              "שלום e\u0301\u0302",
		"e\u0301\u0302\u0303\u0304\u0305": "e\u0301\u0302\u0303" + `\u0304\u0305`,
		"\u0301a\n\u0301b":                `\u0301a` + "\n" + `\u0301b`, // on no letter
		"1\u20e3":                         `1\u20e3`,                    // drawn around it
		"x\n" + strings.Repeat(" ", 20) + "^^" + strings.Repeat(" ", 9) + "^": "x\n" + strings.Repeat(" ", 20) + `^^\x20{9}^`, // as tracebacks have
		strings.Repeat(" ", maxIndent+1) + "x":                                `\x20{121}x`,
		strings.Repeat(" ", 60000):                                            `\x20{60000}`,
	} {
		if got := Readable(text); got != want {
			t.Errorf("Readable(%q) = %q, want %q", text, got, want)
		}
	}
}
