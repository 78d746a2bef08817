package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// vt is what a terminal of 80 columns and 24 rows shows: as much of one as the
// program uses, and as servers could. It keeps the rows that have scrolled out.
type vt struct {
	rows     [][]string // a cell each: a letter with its marks; "" = it is the right half of a wide one
	row, col int
	wraps    bool // the next letter begins a row
	rest     []byte
	odd      []string // sequences that it does not know
}

const vtColumns, vtRows = 80, 24

func newVT() *vt {
	v := new(vt)
	v.at(0)
	return v
}

// at makes sure that there is a row.
func (v *vt) at(row int) []string {
	for len(v.rows) <= row {
		v.rows = append(v.rows, slicesOf(" ", vtColumns))
	}
	return v.rows[row]
}

func slicesOf(cell string, n int) []string {
	cells := make([]string, n)
	for i := range cells {
		cells[i] = cell
	}
	return cells
}

// top is the first row that can still be reached.
func (v *vt) top() int { return max(len(v.rows)-vtRows, 0) }

// feed takes what is written to the terminal.
func (v *vt) feed(text string) {
	v.rest = append(v.rest, text...)
	for len(v.rest) > 0 {
		n := v.step(v.rest)
		if n == 0 {
			return // the rest of it is to come
		}
		v.rest = v.rest[n:]
	}
}

func (v *vt) step(text []byte) int {
	switch text[0] {
	case '\r':
		v.col, v.wraps = 0, false
	case '\n':
		v.down()
	case '\b':
		v.col, v.wraps = max(v.col-1, 0), false
	case '\t':
		v.col = min(v.col/8*8+8, vtColumns-1)
	case '\a':
	case 0x1b:
		return v.sequence(text)
	default:
		if !utf8.FullRune(text) {
			return 0
		}
		r, n := utf8.DecodeRune(text)
		v.put(r)
		return n
	}
	return 1
}

func (v *vt) down() {
	v.row, v.wraps = v.row+1, false
	v.at(v.row)
}

// put draws a letter: a mark over the one before it, and a wide one in two cells.
func (v *vt) put(r rune) {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		if cells := v.at(v.row); v.col > 0 {
			cells[v.col-1] += string(r)
		}
		return
	}
	width := 1
	if vtWide(r) {
		width = 2
	}
	if v.wraps || v.col+width > vtColumns {
		v.col = 0
		v.down()
	}
	cells := v.at(v.row)
	cells[v.col] = string(r)
	if width == 2 {
		cells[v.col+1] = ""
	}
	if v.col += width; v.col >= vtColumns {
		v.col, v.wraps = vtColumns-1, true
	}
}

// vtWide is by itself, so that a mistake of columnsOf shows.
func vtWide(r rune) bool {
	return r >= 0x1100 && r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 || r >= 0xf900 && r <= 0xfaff ||
		r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 || r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd ||
		r == 0x231a || r == 0x2705 || r == 0x2b50
}

// sequence does what a control sequence says.
func (v *vt) sequence(text []byte) int {
	if len(text) < 2 {
		return 0
	}
	if text[1] != '[' {
		v.odd = append(v.odd, fmt.Sprintf("%q", text[:2]))
		return 2
	}
	end := 2
	for end < len(text) && (text[end] < 0x40 || text[end] > 0x7e) {
		end++
	}
	if end == len(text) {
		return 0
	}
	n := 1
	fmt.Sscanf(string(text[2:end]), "%d", &n)
	switch text[end] {
	case 'A':
		v.row = max(v.row-n, v.top())
	case 'B':
		v.row = min(v.row+n, len(v.rows)-1)
	case 'C':
		v.col = min(v.col+n, vtColumns-1)
	case 'D':
		v.col = max(v.col-n, 0)
	case 'G':
		v.col = min(max(n, 1), vtColumns) - 1
	case 'K':
		copy(v.at(v.row)[v.col:], slicesOf(" ", vtColumns))
	case 'J':
		copy(v.at(v.row)[v.col:], slicesOf(" ", vtColumns))
		for row := v.row + 1; row < len(v.rows); row++ {
			copy(v.rows[row], slicesOf(" ", vtColumns))
		}
	case 'm':
	default:
		v.odd = append(v.odd, fmt.Sprintf("%q", text[:end+1]))
	}
	v.wraps = false
	return end + 1
}

// lines are all rows, also those that have scrolled out, up to the last that has
// something on it.
func (v *vt) lines() []string {
	lines := make([]string, len(v.rows))
	last := 0
	for i, cells := range v.rows {
		if lines[i] = strings.TrimRight(strings.Join(cells, ""), " "); lines[i] != "" {
			last = i + 1
		}
	}
	return lines[:last]
}

// screenful is what one sees.
func (v *vt) screenful() []string {
	lines := v.lines()
	return lines[max(len(lines)-vtRows, 0):]
}
