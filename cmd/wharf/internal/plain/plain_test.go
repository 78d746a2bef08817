package plain

import (
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

func TestName(t *testing.T) {
	for text, want := range map[string]string{
		"files": "files", "0123456789": "0123456789", "01234567890": "012345678…", "日本語日本語": "日本語日…",
		"e\u0301": `e\u0301`, "a\nb": `a\nb`, strings.Repeat("x", 1000): "xxxxxxxxx…",
	} {
		if got := Name(text, 10); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestCells: a cell begins as the line does, and says where it was cut.
func TestCells(t *testing.T) {
	at := strings.Repeat("é", cellBytes/2)
	for text, want := range map[string]string{at: at, at + "é": at + "…", "a\n b": "a b", "x" + at: "x" + strings.TrimSuffix(at, "é") + "…"} {
		if got := Cell(text); got != want {
			t.Errorf("%.10q, %d bytes: got %d bytes ending in %q", text, len(text), len(got), got[len(got)-5:])
		}
	}
	for text, want := range map[string]string{"": "", "日本": "日本", "日本語": "日…", "\xff\xff\xff": "\xff…"} {
		if got := Clip(text, 2); got != want {
			t.Errorf("clip(%q) is %q, want %q", text, got, want)
		}
	}
}
