package cleantext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns text of any length for a terminal. Every rune that [IsUnsafe] is an escape
// instead, such as \x1b or \u202e. Newlines and tabs stay, and a CR before a newline
// goes. What is not UTF-8 becomes U+FFFD.
func Text(text string) string {
	return escapeUnsafe(strings.ReplaceAll(text, "\r\n", "\n"), func(r rune) string {
		switch {
		case r < 0x100:
			return fmt.Sprintf(`\x%02x`, r)
		case r < 0x10000:
			return fmt.Sprintf(`\u%04x`, r)
		}
		return fmt.Sprintf(`\U%08x`, r)
	})
}

// JSON returns a JSON text for a terminal: every rune that [IsUnsafe] is a JSON escape
// instead, which means the same.
func JSON(text string) string {
	return escapeUnsafe(text, func(r rune) string {
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			return fmt.Sprintf(`\u%04x\u%04x`, high, low)
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}

// IsUnsafe reports whether a terminal may act upon r, or a person cannot see it: control
// characters, characters that turn the direction of writing, and invisible ones. It is
// false for newlines and tabs, and for the joiners that scripts and emoji need.
func IsUnsafe(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	switch {
	case r >= ' ' && r < 0x7f, r == '\n', r == '\t', r == nonJoiner, r == joiner:
		return false
	case r == '\u2028', r == '\u2029', unicode.IsControl(r):
		return true
	}
	return unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) ||
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// escapeUnsafe replaces the runes that [IsUnsafe], and bytes that are not UTF-8.
func escapeUnsafe(text string, escape func(r rune) string) string {
	escapes := 0
	for _, r := range text {
		if IsUnsafe(r) {
			escapes++
		}
	}
	if escapes == 0 && utf8.ValidString(text) {
		return text
	}
	var out strings.Builder
	out.Grow(len(text) + escapes*len(`\u0000`))
	for _, r := range text {
		if IsUnsafe(r) {
			out.WriteString(escape(r))
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}
