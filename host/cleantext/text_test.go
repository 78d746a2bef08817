package cleantext

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"plain":             "plain",
		"two\nlines\tand":   "two\nlines\tand",
		"windows\r\nline":   "windows\nline",
		"over\rwrite":       `over\x0dwrite`,
		"\x1b[2Jcleared":    `\x1b[2Jcleared`,
		"\u009b2Jcleared":   `\x9b2Jcleared`,
		"bell\a back\b del": `bell\x07 back\x08 del`,
		"\x7f":              `\x7f`,
		"txt\u202egpj":      `txt\u202egpj`,
		"iso\u2066late":     `iso\u2066late`,
		"sep\u2028arate":    `sep\u2028arate`,
		"bad\xffbyte":       "bad\ufffdbyte",
		"no\u200bwidth":     `no\u200bwidth`, // what a person cannot see
		"\ufeffmark":        `\ufeffmark`,
		"tag\U000e0041":     `tag\U000e0041`,
		"fill\u3164er":      `fill\u3164er`,
		"می\u200cخواهم":     "می\u200cخواهم",
		"👩\u200d🚀 ❤\ufe0f":  "👩\u200d🚀 ❤\ufe0f",
		"naïve 日本 🚢":        "naïve 日本 🚢",
	} {
		if got := Text(text); got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[0mb\r\n\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := Text(text)
		if strings.IndexFunc(got, IsUnsafe) >= 0 || !utf8.ValidString(got) {
			t.Errorf("Text(%q) = %q", text, got)
		}
		if Text(got) != got {
			t.Errorf("Text is not stable for %q", text)
		}
	})
}

// FuzzJSON: what is shown means the same, and a terminal does not act upon it.
func FuzzJSON(f *testing.F) {
	f.Add("a\u202e\u200b\U000e0041b\u2028")
	f.Fuzz(func(t *testing.T, text string) {
		plain, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		shown := JSON(string(plain))
		var want, got string
		if err := json.Unmarshal(plain, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(shown), &got); err != nil || got != want || strings.IndexFunc(shown, IsUnsafe) >= 0 {
			t.Errorf("JSON(%q) = %q, %v", plain, shown, err)
		}
	})
}

// TestLine: what a stranger hides in a line is not in an error.
func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"two\nlines\tand  more":                 "two lines and more",
		"\x1b[2Jcleared":                        "[2Jcleared",
		"txt\u202egpj":                          "txt gpj",
		"no\u200bwidth \ufeffmark":              "no width mark",
		"tag\U000e0041 fill\u3164er":            "tag fill er",
		"blank\u2800braille ❤\ufe0f":            "blank braille ❤",
		"bad\xffbyte":                           "bad byte",
		"naïve 日本 🚢 " + strings.Repeat("x", 90): "naïve 日本 🚢 " + strings.Repeat("x", 61) + "…",
		"a" + strings.Repeat("\u200b", 110):     "a",
		"a" + strings.Repeat("\u200b", 111):     "a…", // there may be more behind them
	} {
		if got := Line(text, 83); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestMask: a text keeps its length, and its line.
func TestMask(t *testing.T) {
	for text, want := range map[string]string{
		"two\r\nlines  more":                  "two  lines  more",
		"\x1b[2J\u202e\u200d\u3164\ufe0f\xff": "\ufffd[2J\ufffd\ufffd\ufffd\ufffd\ufffd",
		"日本\u3000語":                           "日本 語",
	} {
		if got := Mask(text); got != want {
			t.Errorf("Mask(%q) = %q, want %q", text, got, want)
		}
	}
}
