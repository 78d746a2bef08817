package plain

import (
	"strings"
	"unicode/utf8"
)

// Table is rows of cells for people, the first row being the headings. The last
// column takes what is left of the line, and is cut to it.
type Table [][]string

const (
	columnLimit = 40 // the widest that a column other than the last may become
	lastColumn  = 20 // what the last has at least, however narrow the terminal
)

// Format lays a table out for a number of columns; 0 is for as many as it takes.
func (t Table) Format(columns int) string {
	widths := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			widths[i] = max(widths[i], min(utf8.RuneCountInString(cell), columnLimit))
		}
	}
	var out strings.Builder
	for _, row := range t {
		out.WriteString(formatRow(row, widths, columns) + "\n")
	}
	return out.String()
}

func formatRow(row []string, widths []int, width int) string {
	var out strings.Builder
	left := width
	for i, cell := range row[:len(row)-1] {
		cell = Clip(cell, widths[i])
		out.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		left -= widths[i] + 2
	}
	last := row[len(row)-1]
	if width > 0 {
		last = Clip(last, max(left, lastColumn))
	}
	return strings.TrimRight(out.String()+last, " ")
}
