// Package plain makes text of others fit for a terminal: harmless, no wider than
// its place, and laid out in tables. It computes text and writes none.
package plain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/host/cleantext"
)

// Text makes foreign text fit for a terminal: what could move the cursor, change
// colours, or reorder what is read (C0 and C1 controls, escape, bidirectional
// controls) is shown as an escape instead. Newlines and tabs stay; a CR before a
// newline goes.
func Text(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return replaceUnsafe(text, func(out *strings.Builder, r rune) {
		if r < 0x100 {
			fmt.Fprintf(out, `\x%02x`, r)
			return
		}
		fmt.Fprintf(out, `\u%04x`, r)
	})
}

// JSON writes the characters of a JSON text that could steer a terminal as JSON
// escapes, which mean the same.
func JSON(text string) string {
	return replaceUnsafe(text, func(out *strings.Builder, r rune) { fmt.Fprintf(out, `\u%04x`, r) })
}

// Line is [Text] for text that must stay on one line.
func Line(text string) string {
	return strings.Join(strings.Fields(Text(text)), " ")
}

// Cell is [Line] for the cell of a table. It looks at no more of the text than fits
// on a terminal.
func Cell(text string) string {
	if len(text) > cellBytes {
		text = text[:WholeRunes(text, cellBytes)] + "…"
	}
	return Line(text)
}

// cellBytes is more than the widest terminal shows of a line.
const cellBytes = 2 << 10

// Name returns a foreign word for a row of our own text: visible, and no wider than
// a number of columns.
func Name(text string, columns int) string {
	seen := cleantext.Visible(CutBytes(text, 4*columns))
	if len(text) <= 4*columns && Width(seen) <= columns {
		return seen
	}
	return Fit(seen, columns-1) + "…"
}

// Quote writes text as a JSON string, for people to read.
func Quote(text string) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		panic(err) // a string always encodes
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// IsUnsafe reports whether a terminal may act upon r.
func IsUnsafe(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// replaceUnsafe replaces every rune that is not safe on a terminal, and every byte
// that is not UTF-8.
func replaceUnsafe(text string, escape func(out *strings.Builder, r rune)) string {
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
			escape(&out, r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}
