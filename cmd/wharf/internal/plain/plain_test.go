package plain

import (
	"strings"
	"testing"
)

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
	for text, want := range map[string]string{
		"one two three": "one two…", "one two. three": "one two.…", "one two t": "one two t", "one twoo…": "one twoo…", "a longestword": "a longes…", "": "",
	} {
		if got := ClipWords(text, 9); got != want {
			t.Errorf("of words %q is %q, want %q", text, got, want)
		}
	}
}
