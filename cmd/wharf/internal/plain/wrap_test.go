package plain

import (
	"slices"
	"testing"
)

// TestWrap holds that a word is broken only if no row has room for it.
func TestWrap(t *testing.T) {
	for _, test := range []struct {
		line string
		want []string
	}{
		{"a file is not in /home/me/wharf.toml", []string{"a file is not in", "  /home/me/wharf.toml"}},
		{"in /home/me/config/wharf.toml", []string{"in /home/me/config/wh", "  arf.toml"}},
		{"x /home/me/wharf.toml", []string{"x /home/me/wharf.toml"}},
		{"x /home/me/wharf.toml y", []string{"x /home/me/wharf.toml", "  y"}},
		{"a /home/me/wharf.tml", []string{"a /home/me/wharf.tml"}},
		{"ab /home/me/wharf.toml", []string{"ab", "  /home/me/wharf.toml"}},
		{"    /home/me/wharf.toml", []string{"    /home/me/wharf.to", "  ml"}},
	} {
		if got := Wrap(test.line, 21, 2); !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.line, got, test.want)
		}
	}
}
