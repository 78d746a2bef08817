package cleantext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns s without anything that steers a terminal, cannot be seen or turns
// the direction of writing, on one line and at most limit bytes long. Runs of what is
// taken out become one space each. A text that is cut ends in "…".
func Line(s string, limit int) string {
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

// isUnfit reports whether r is white space, a control character, a format character
// (category Cf, some of which are invisible) or not valid UTF-8.
func isUnfit(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError
}
