package nearest

import (
	"strings"
	"testing"
)

func TestEdits(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"tools", "tools", 0}, {"tols", "tools", 1}, {"toolss", "tools", 1},
		{"tolos", "tools", 1}, // two letters that changed places are one edit
		{"kitten", "sitting", 3}, {"é", "e", 1}, {"ca", "abc", 3},
	} {
		if got, back := Edits(tc.a, tc.b), Edits(tc.b, tc.a); got != tc.want || back != tc.want {
			t.Errorf("%q and %q: %d, and back %d; want %d", tc.a, tc.b, got, back, tc.want)
		}
	}
}

func TestName(t *testing.T) {
	names := []string{"tools", "call", "b", "größe", strings.Repeat("a", 99)}
	for word, want := range map[string]string{
		"tolos": "tools", "CAL": "call", "bb": "b", "x": "", "entirely": "", "": "", "grösse": "größe",
		strings.Repeat("a", 98): "",
	} {
		if got := Name(word, names, 2); got != want {
			t.Errorf("%.20q: %q, want %q", word, got, want)
		}
	}
}
