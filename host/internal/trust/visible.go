package trust

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns text so that a person sees all that is in it: whatever could
// move a cursor, reorder what is read, or take no room at all is an escape
// instead, and so is a line break.
func Visible(text string) string {
	var b strings.Builder
	for i, width := 0, 0; i < len(text); i += width {
		var r rune
		r, width = utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && width == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case isSeen(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// isSeen reports whether a rune leaves something of its own on the screen.
// strconv knows controls, formats and spaces; the tables know the letters and
// marks that are drawn as nothing.
func isSeen(r rune) bool {
	const brailleBlank = '\u2800'
	return strconv.IsPrint(r) && r != brailleBlank &&
		!unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Word returns an argument as one word of a line: visible, and in quotes where it
// would not read as one.
func Word(text string) string {
	seen := Visible(text)
	if text == "" || strings.ContainsAny(text, " '\"\\") || seen != text {
		return `"` + strings.ReplaceAll(seen, `"`, `\"`) + `"`
	}
	return seen
}

// Words returns arguments as one line.
func Words(texts []string) string {
	words := make([]string, len(texts))
	for i, text := range texts {
		words[i] = Word(text)
	}
	return strings.Join(words, " ")
}

// foreign returns the letters of a text beyond ASCII, as escapes: some look like
// others.
func foreign(text string) string {
	var found []string
	for _, r := range text {
		if r >= utf8.RuneSelf && unicode.IsLetter(r) {
			found = append(found, fmt.Sprintf("U+%04X", r))
		}
	}
	return strings.Join(found[:min(len(found), 4)], " ")
}
