package cleantext

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns text of any length for a terminal. It replaces every rune that [IsUnsafe] by an
// escape, such as \x1b or \u202e. Newlines and tabs stay, and a CR before a newline is removed.
// Bytes that are not UTF-8 become U+FFFD.
func Text(text string) string {
	return escapeUnsafe(strings.ReplaceAll(text, "\r\n", "\n"), func(out []byte, r rune) []byte {
		switch {
		case r < 0x100:
			return appendHex(append(out, `\x`...), r, 2)
		case r < 0x10000:
			return appendHex(append(out, `\u`...), r, 4)
		}
		return appendHex(append(out, `\U`...), r, 8)
	})
}

// JSON returns a JSON text for a terminal. It replaces every rune that [IsUnsafe] by the JSON
// escape that means the same.
func JSON(text string) string {
	return escapeUnsafe(text, func(out []byte, r rune) []byte {
		if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
			out, r = appendHex(append(out, `\u`...), high, 4), low
		}
		return appendHex(append(out, `\u`...), r, 4)
	})
}

// appendHex appends r in hexadecimal, with that many digits.
func appendHex(out []byte, r rune, digits int) []byte {
	for digits--; digits >= 0; digits-- {
		out = append(out, "0123456789abcdef"[r>>(4*digits)&0xf])
	}
	return out
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

// escapeUnsafe replaces the runes that [IsUnsafe], and bytes that are not UTF-8. escape appends
// to out because a text may consist of such runes alone.
func escapeUnsafe(text string, escape func(out []byte, r rune) []byte) string {
	escapes := 0
	for _, r := range text {
		if IsUnsafe(r) {
			escapes++
		}
	}
	if escapes == 0 && utf8.ValidString(text) {
		return text
	}
	var buf [12]byte
	var out strings.Builder
	out.Grow(len(text) + escapes*len(`\u0000`))
	for _, r := range text {
		if IsUnsafe(r) {
			out.Write(escape(buf[:0], r))
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}
