// Package plain makes foreign text fit for a terminal: harmless, no wider than its place, and
// laid out in tables. It computes text and writes none.
package plain

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
)

// Line is [cleantext.Text] for text that must stay on one line: each run of white space becomes one
// space.
func Line(text string) string {
	text = cleantext.Text(text)
	var line strings.Builder
	line.Grow(len(text))
	for word := range strings.FieldsSeq(text) {
		if line.Len() > 0 {
			line.WriteByte(' ')
		}
		line.WriteString(word)
	}
	return line.String()
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
