package capability

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes a text of somebody else fit to be shown to a person: without what
// steers a terminal or turns the direction of writing, on one line, and no
// longer than limit bytes.
func Clean(s string, limit int) string {
	const more = "…"
	s = strings.Join(strings.FieldsFunc(s[:min(len(s), 4*limit)], isUnfit), " ")
	if len(s) <= limit {
		return s
	}
	cut := limit - len(more)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + more
}

// isUnfit reports whether r is white space, steers something or is no letter at
// all. The last are the format characters, of which some cannot be seen.
func isUnfit(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError
}
