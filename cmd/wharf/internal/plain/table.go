package plain

import (
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

// Format lays a table out for a number of columns; 0 is for as many as it takes. It cuts
// nothing. Cells stand in columns where they fit, with the last ones in lines of their own
// where too little room is left beside the others. Where the others alone are too wide, a
// row is its first cell, and below it the rest. Only a word that is longer than a line is
// left to the terminal to break, so that it can be copied.
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
	for _, row := range t {
		switch {
		case columns <= 0 || columns-beside >= min(longest, describing):
			out.WriteString(hang(inColumns(row[:last], widths), row[last], beside, columns))
		case beside-2 <= columns:
			out.WriteString(strings.TrimRight(inColumns(row[:last], widths), " ") + "\n")
			out.WriteString(inset(row[last], columns))
		default:
			out.WriteString(row[0] + "\n" + inset(strings.Join(slices.DeleteFunc(slices.Clone(row[1:last]), isEmpty), " · "), columns))
			out.WriteString(inset(row[last], columns))
		}
	}
	return out.String()
}

func isEmpty(cell string) bool { return cell == "" }

// inColumns returns cells behind each other, each as wide as its column.
func inColumns(cells []string, widths []int) string {
	var out strings.Builder
	for i, cell := range cells {
		out.WriteString(cell + strings.Repeat(" ", widths[i]-Width(cell)+2))
	}
	return out.String()
}

// hang returns the lines of a row whose last cell begins at a column and stays right of it.
func hang(before, cell string, at, columns int) string {
	if columns <= 0 || at+Width(cell) <= columns {
		return strings.TrimRight(before+cell, " ") + "\n"
	}
	return before + strings.Join(WrapWords(cell, columns-at), "\n"+strings.Repeat(" ", at)) + "\n"
}

// inset returns the lines of a cell that stands below the first one.
func inset(cell string, columns int) string {
	if cell == "" {
		return ""
	}
	margin := strings.Repeat(" ", min(tableInset, columns/4))
	return margin + strings.Join(WrapWords(cell, columns-len(margin)), "\n"+margin) + "\n"
}

// Paragraph is foreign text of several lines, made harmless, indented, and wrapped to a
// number of columns; 0 wraps nothing. Empty lines stay, and so does what lines of the text
// are indented by.
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
