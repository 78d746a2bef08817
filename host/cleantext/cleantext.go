// Package cleantext makes untrusted text safe to show: text of servers, plugins and
// the files of projects. Which function fits depends on where the text is shown:
//
//   - [Visible], for a name in a question: nothing in it is hidden or moves;
//   - [Readable], for what a stranger says in a question, over several lines;
//   - [Line], for an error or a log: one line, of bounded length; or [Mask];
//   - [Text] and [JSON], for output of any length on a terminal.
package cleantext

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Stderr stands in the error of a server that has ended between our own words and what the server wrote to its stderr,
// which begins on the next line.
const Stderr = "; its stderr:"

// Visible returns text so that a person sees everything in it. It replaces by an escape each
// rune that could move the cursor, reorder what is read, be drawn over another rune or take no
// room, and also line breaks, tabs and long runs of spaces. Applying Visible to its result
// changes nothing.
func Visible(text string) string { return escaped(text, isName) }

// Readable is [Visible] for sentences. It keeps what languages need: line breaks (as "\n"),
// letters that are written from right to left, a few marks on a letter, and the indentation of a line.
// Show its lines so
// that they cannot be taken for the program's: within bars, for example.
func Readable(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	for i, line := range lines {
		marks := maxMarks // on no letter yet
		line = strings.ReplaceAll(line, "\t", "    ")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if indent > maxIndent || indent == len(line) {
			indent = 0
		}
		lines[i] = line[:indent] + escaped(line[indent:], func(r rune) bool {
			if !unicode.Is(unicode.M, r) {
				marks = 0
				return isSeen(r)
			}
			marks++
			return marks <= maxMarks && isSeen(r) && !unicode.Is(unicode.Me, r)
		})
	}
	return strings.Join(lines, "\n")
}

// Bounds of what is shown as it is.
const (
	maxSpaces = 8   // in a row, within a line
	maxIndent = 120 // of a line of a sentence: tracebacks have marks below a place in the line above
	maxMarks  = 3   // on one letter, which is what Hebrew and Vietnamese need
)

// escaped replaces runes that are not shown as they are, and long runs of spaces.
func escaped(text string, shown func(rune) bool) string {
	var b strings.Builder
	for i, width := 0, 0; i < len(text); i += width {
		var r rune
		r, width = utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && width == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == ' ':
			width = len(text[i:]) - len(strings.TrimLeft(text[i:], " "))
			if width > maxSpaces {
				fmt.Fprintf(&b, `\x20{%d}`, width)
			} else {
				b.WriteString(text[i : i+width])
			}
			shown(r) // a space ends the marks on a letter
		case shown(r):
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// isSeen reports whether a rune leaves something of its own on the screen. strconv knows
// controls, formats and spaces; the tables know the letters and marks that are drawn as nothing.
func isSeen(r rune) bool {
	const brailleBlank = '\u2800'
	return strconv.IsPrint(r) && r != brailleBlank &&
		!unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// isName reports whether a rune is drawn in its own place. It is false for a mark, which
// is drawn over the letter before it, and for letters of a script from right to left,
// which change places.
func isName(r rune) bool { return isSeen(r) && !unicode.In(r, unicode.M, rightToLeft) }

// rightToLeft holds the blocks whose letters are written from right to left, including those
// without a letter so far (Unicode Standard Annex 9, default classes R and AL).
var rightToLeft = &unicode.RangeTable{
	R16: []unicode.Range16{{0x0590, 0x08ff, 1}, {0xfb1d, 0xfdff, 1}, {0xfe70, 0xfeff, 1}},
	R32: []unicode.Range32{{0x10800, 0x10fff, 1}, {0x1e800, 0x1efff, 1}},
}

// Word returns an argument as one visible word of a line, in quotes if it would not read as one.
func Word(text string) string {
	seen := Visible(text)
	if text == "" || strings.ContainsAny(text, " '\"\\") || seen != text {
		return `"` + strings.ReplaceAll(seen, `"`, `\"`) + `"`
	}
	return seen
}

// Words returns arguments as one line, each as [Word] returns it, with a space between two.
func Words(texts []string) string {
	words := make([]string, len(texts))
	for i, text := range texts {
		words[i] = Word(text)
	}
	return strings.Join(words, " ")
}
