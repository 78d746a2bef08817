package plain

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/cleantext"
)

// Table is rows of cells for people, the first row being the headings. Each row names
// something in its first cell and describes it in its last one.
type Table [][]string

const (
	describing = 24 // the columns that the last cell needs to stand beside the others
	tableInset = 4  // of what stands below the first cell
)

// Format lays a table out for a number of columns; 0 means without a limit. It cuts nothing.
// Cells stand in columns if they fit. If too little room is left for the last cells, or less
// than one of their words takes, the last cells get lines of their own. If the other cells alone
// are too wide, a row is its first cell, with the rest below it; of three cells the second stays
// beside the first where it has room. A word that is longer than a
// line is left to the terminal to break, so that it can be copied.
func (t Table) Format(columns int) string {
	last := len(t[0]) - 1
	widths := make([]int, last)
	longest := 0
	for _, row := range t {
		for i, cell := range row[:last] {
			widths[i] = max(widths[i], Width(cell))
		}
		longest = max(longest, Width(row[last]))
	}
	beside := 0 // the columns before the last one
	for _, width := range widths {
		beside += width + 2
	}
	var out strings.Builder
	for i, row := range t {
		switch {
		case columns <= 0 || columns-beside >= min(longest, describing) && longestWord(row[last]) <= columns-beside:
			writeColumns(&out, row[:last], widths, row[last] != "")
			hang(&out, row[last], beside, columns)
		case beside-2 <= columns:
			writeColumns(&out, row[:last], widths, false)
			out.WriteByte('\n')
			inset(&out, row[last], columns)
		case i == 0:
			hang(&out, strings.Join(slices.Concat(row[:1], t.between(0), row[last:]), " · "), 0, columns)
		default:
			rest := strings.Join(t.between(i), " · ")
			if last == 2 && Width(row[0])+2+Width(rest) <= columns {
				out.WriteString(strings.TrimRight(row[0]+"  "+rest, " ") + "\n")
			} else {
				out.WriteString(row[0] + "\n")
				inset(&out, rest, columns)
			}
			inset(&out, row[last], columns)
		}
	}
	return out.String()
}

// Facts lays out names in a column, and what is said of each in a column to the right.
func Facts(facts [][2]string, columns int) string {
	var out strings.Builder
	for _, fact := range facts {
		fmt.Fprintf(&out, "%-*s  ", nameOfFact, fact[0])
		hang(&out, fact[1], nameOfFact+2, columns)
	}
	return out.String()
}

const nameOfFact = 8 // columns

// Markdown lays a table out as GitHub and most others read it.
func (t Table) Markdown() string {
	var out strings.Builder
	for i, row := range t {
		for _, cell := range row {
			out.WriteString("| " + markdownCell.Replace(cell) + " ")
		}
		out.WriteString("|\n")
		if i == 0 {
			out.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	return out.String()
}

// markdownCell escapes the text of a cell, so that it neither ends the cell nor becomes a link, an
// image or an element.
var markdownCell = strings.NewReplacer(`\`, `\\`, "|", `\|`, "<", "&lt;", "[", `\[`, "`", "\\`")

// MarkdownText returns foreign text as Markdown in which nothing becomes a link, an image, an element or code.
func MarkdownText(text string) string { return markdownText.Replace(text) }

var markdownText = strings.NewReplacer(`\`, `\\`, "<", "&lt;", "&", "&amp;", "[", `\[`, "`", "\\`", "*", `\*`, "_", `\_`, "#", `\#`, "|", `\|`, "~", `\~`, ">", "&gt;")

// MarkdownLabel returns foreign text as the label of a link or an image in Markdown, which
// it cannot end.
func MarkdownLabel(text string) string {
	return strings.ReplaceAll(markdownCell.Replace(Line(text)), "]", `\]`)
}

// longestWord returns the width of the widest word of a cell that cannot be broken.
func longestWord(cell string) (width int) {
	for word := range strings.FieldsSeq(cell) {
		if !breakable(word) {
			width = max(width, Width(word))
		}
	}
	return width
}

// between returns the cells of a row that are not empty, without the first and the last. In a
// table of many columns, each cell gets its heading in front, because a reader could not tell
// which column it is from.
func (t Table) between(row int) (cells []string) {
	last := len(t[0]) - 1
	for i, cell := range t[row][:last] {
		switch {
		case i == 0 || cell == "":
		case last <= labelled:
			cells = append(cells, cell)
		case row > 0:
			cells = append(cells, strings.ToLower(t[0][i])+" "+cell)
		}
	}
	return cells
}

const labelled = 3 // a row with more cells before its last one has their headings among them

// writeColumns writes cells one after the other, each as wide as its column. It writes no
// blanks at the end of a line.
func writeColumns(out *strings.Builder, cells []string, widths []int, more bool) {
	blanks := 0
	for i, cell := range cells {
		if cell != "" {
			writeBlanks(out, blanks)
			out.WriteString(cell)
			blanks = 0
		}
		blanks += widths[i] - Width(cell) + 2
	}
	if more {
		writeBlanks(out, blanks)
	}
}

func writeBlanks(out *strings.Builder, n int) {
	for range n {
		out.WriteByte(' ')
	}
}

// hang ends a row with its last cell, whose lines all begin at the column at.
func hang(out *strings.Builder, cell string, at, columns int) {
	if columns <= 0 || at+Width(cell) <= columns {
		out.WriteString(cell)
	} else {
		for i, row := range WrapWords(cell, columns-at) {
			if i > 0 {
				out.WriteByte('\n')
				writeBlanks(out, at)
			}
			out.WriteString(row)
		}
	}
	out.WriteByte('\n')
}

// inset writes a cell that stands below the first one.
func inset(out *strings.Builder, cell string, columns int) {
	margin := min(tableInset, columns/4)
	for _, row := range WrapWords(cell, columns-margin) {
		writeBlanks(out, margin)
		out.WriteString(row)
		out.WriteByte('\n')
	}
}

// Paragraph returns foreign text of several lines, made harmless, indented, and wrapped to a number
// of columns; 0 wraps nothing. Empty lines stay, and so do the indents that the lines of the text
// have.
func Paragraph(text string, indent, columns int) string {
	if columns <= 0 {
		columns = math.MaxInt32
	}
	var out strings.Builder
	for line := range strings.Lines(cleantext.Text(text)) {
		line = strings.TrimRight(line, " \r\n")
		words := strings.TrimLeft(line, " ")
		margin := strings.Repeat(" ", min(indent+len(line)-len(words), columns/2, deepestInset))
		if words == "" {
			margin = ""
		}
		out.WriteString(margin + strings.Join(WrapWords(words, columns-len(margin)), "\n"+margin) + "\n")
	}
	return out.String()
}

const deepestInset = 40 // however deep a server indents its text
