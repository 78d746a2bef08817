package generate

import (
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
)

// maxName bounds a name in bytes, without the number that makes it unique.
const maxName = 64

// camel makes an identifier from any text: its ASCII letters and digits, with an upper-case
// letter at the start of each word.
func camel(text string) string {
	var out strings.Builder
	first := true
	for _, r := range text {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		digit := '0' <= r && r <= '9'
		switch {
		case !letter && !digit:
			first = true
			continue
		case digit && out.Len() == 0:
			out.WriteByte('N')
		case first && 'a' <= r && r <= 'z':
			r += 'A' - 'a'
		}
		out.WriteRune(r)
		first = digit
		if out.Len() >= maxName {
			break
		}
	}
	if out.Len() == 0 {
		return "Unnamed"
	}
	return out.String()
}

// names holds the identifiers of one scope, each with the last number that was tried to make it
// unique.
type names map[string]int

func newNames(reserved ...string) names {
	n := make(names)
	for _, name := range reserved {
		n[name] = 1
	}
	return n
}

// take returns the name, or the name with the first number from 2 on that makes it unique.
func (n names) take(name string) string {
	unique := name
	for n[unique] != 0 {
		n[name]++
		unique = name + strconv.Itoa(n[name])
	}
	n[unique] = 1
	return unique
}

// Bounds of a comment: its text in bytes, and its rows in columns.
const (
	maxComment   = 2000
	commentWidth = 92
)

// commentRows returns a foreign text in rows. Each row is visible, and has no line break.
func commentRows(text string) (rows []string) {
	text = strings.TrimSpace(cleantext.Readable(cleantext.Cut(text, maxComment)))
	for line := range strings.Lines(text) {
		row := ""
		for _, word := range strings.Fields(line) {
			if row != "" && len(row)+1+len(word) > commentWidth {
				rows = append(rows, row)
				row = ""
			}
			row = strings.TrimSpace(row + " " + word)
		}
		rows = append(rows, row)
	}
	return rows
}
