package cleantext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzLine(f *testing.F) {
	for _, s := range []string{"", "plain", "a\x1b[2Jb", "\u202eevil", "é\xff\u200b", strings.Repeat("ü", 100)} {
		f.Add(s, 20)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		limit = 8 + max(limit, -limit)%1000
		got := Line(s, limit)
		if len(got) > limit || !utf8.ValidString(got) || strings.ContainsFunc(strings.ReplaceAll(got, " ", ""), isUnfit) {
			t.Errorf("Line(%q, %d) is %q", s, limit, got)
		}
	})
}
