package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// outputError is a write to stdout that did not work.
type outputError struct{ err error }

func (e *outputError) Error() string { return "write output: " + e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

// forPeople says that stdout is a terminal and nobody asked for JSON.
func (a *app) forPeople() bool { return a.outTTY && !a.flags.json }

// print writes text to stdout. On a terminal it goes above the lines that change.
func (a *app) print(text string) error {
	write := a.out.Write
	if c, ok := a.err.(*console); ok && a.outTTY {
		write = func(text []byte) (int, error) { return c.writeTo(a.out, text) }
	}
	if _, err := write([]byte(text)); err != nil {
		return &outputError{err}
	}
	return nil
}

// printJSON writes v to stdout as one line of JSON.
func (a *app) printJSON(v any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	return a.printRaw(line.Bytes())
}

// printRaw writes JSON to stdout as one line, its values as they are. On a
// terminal the characters that could steer it are written as JSON escapes,
// which mean the same.
func (a *app) printRaw(value json.RawMessage) error {
	var line bytes.Buffer
	if err := json.Compact(&line, value); err != nil {
		return fmt.Errorf("the server's answer: %w", err)
	}
	line.WriteByte('\n')
	if !a.outTTY {
		return a.print(line.String())
	}
	return a.printParts(line.String(), func(text string) string {
		return replaceUnsafe(text, func(out *strings.Builder, r rune) { fmt.Fprintf(out, `\u%04x`, r) })
	})
}

// printPlain writes text of a stranger to stdout, as plain has it.
func (a *app) printPlain(text string) error { return a.printParts(text, plain) }

// printPart is how many bytes are made harmless at a time, which may take six times
// their room.
const printPart = 1 << 20

// printParts writes text part by part, each changed before. No rune and no line end
// is in two of them.
func (a *app) printParts(text string, change func(string) string) error {
	for len(text) > printPart {
		end := wholeRunes(text, printPart)
		if text[end-1] == '\r' {
			end--
		}
		if err := a.print(change(text[:end])); err != nil {
			return err
		}
		text = text[end:]
	}
	return a.print(change(text))
}

// plain makes text of a stranger fit for a terminal: what could move the
// cursor, change colours, or reorder what is read (C0 and C1 controls, escape,
// bidirectional controls) is shown as an escape instead. Newlines and tabs
// stay; a CR before a newline goes.
func plain(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return replaceUnsafe(text, func(out *strings.Builder, r rune) {
		if r < 0x100 {
			fmt.Fprintf(out, `\x%02x`, r)
			return
		}
		fmt.Fprintf(out, `\u%04x`, r)
	})
}

// line is plain for text that must stay on one line.
func line(text string) string {
	return strings.Join(strings.Fields(plain(text)), " ")
}

// cell is line for the cell of a table, of which no more than fits on a terminal is
// looked at.
func cell(text string) string {
	if len(text) > cellBytes {
		text = text[:wholeRunes(text, cellBytes)] + "…"
	}
	return line(text)
}

// wholeRunes is how much of a longer text has so many bytes at most and does not end
// within a rune.
func wholeRunes(text string, bytes int) int {
	end := bytes
	for end > bytes-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}

// cellBytes is more than the widest terminal shows of a line.
const cellBytes = 2 << 10

// replaceUnsafe replaces every rune that is not safe on a terminal, and every
// byte that is no UTF-8.
func replaceUnsafe(text string, escape func(out *strings.Builder, r rune)) string {
	escapes := 0
	for _, r := range text {
		if unsafe(r) {
			escapes++
		}
	}
	if escapes == 0 && utf8.ValidString(text) {
		return text
	}
	var out strings.Builder
	out.Grow(len(text) + escapes*len(`\u0000`))
	for _, r := range text {
		if unsafe(r) {
			escape(&out, r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}

// unsafe is true for the runes that a terminal may act upon.
func unsafe(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// table is rows of cells for people, the first row being the headings. The
// last column takes what is left of the line, and is cut to it.
type table [][]string

const (
	columnLimit = 40 // the widest that a column other than the last may become
	lastColumn  = 20 // what the last has at least, however narrow the terminal
)

func (a *app) printTable(rows table) error {
	headings, rest, _ := strings.Cut(rows.format(a.width), "\n")
	return a.print(a.styled(a.outTTY, styleBold, headings) + "\n" + rest)
}

// format lays a table out for a number of columns; 0 is for as many as it takes.
func (t table) format(columns int) string {
	widths := t.widths()
	var out strings.Builder
	for _, row := range t {
		out.WriteString(formatRow(row, widths, columns) + "\n")
	}
	return out.String()
}

func (t table) widths() []int {
	widths := make([]int, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			widths[i] = max(widths[i], min(utf8.RuneCountInString(cell), columnLimit))
		}
	}
	return widths
}

func formatRow(row []string, widths []int, width int) string {
	var out strings.Builder
	left := width
	for i, cell := range row[:len(row)-1] {
		cell = clip(cell, widths[i])
		out.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		left -= widths[i] + 2
	}
	last := row[len(row)-1]
	if width > 0 {
		last = clip(last, max(left, lastColumn))
	}
	return strings.TrimRight(out.String()+last, " ")
}

// clip cuts text to at most limit runes, and shows that it did.
func clip(text string, limit int) string {
	runes := 0
	for at := range text {
		if runes++; runes == limit { // the last rune that there is room for, if any other follows
			if _, n := utf8.DecodeRuneInString(text[at:]); at+n < len(text) {
				return text[:at] + "…"
			}
		}
	}
	return text
}
