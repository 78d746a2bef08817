package term

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// OutputError is a write to stdout that failed.
type OutputError struct{ Err error }

func (e *OutputError) Error() string { return "write output: " + e.Err.Error() }
func (e *OutputError) Unwrap() error { return e.Err }

// ExitKind implements [exit.Kinder].
func (e *OutputError) ExitKind() exit.Kind { return exit.Kind{Code: exit.CodeInternal, Name: "output"} }

// IsUnread reports whether err says that the reader of stdout went away, as head does.
func IsUnread(err error) bool {
	return errors.Is(err, syscall.EPIPE) && errors.As(err, new(*OutputError))
}

// Print writes text to stdout as it is. On a terminal it goes above the lines that
// change. Its errors, and those of the methods below, are of type [*OutputError].
func (t *Terminal) Print(text string) error {
	write := t.Out.Write
	if c, ok := t.Err.(*Console); ok && t.OutTTY {
		write = func(text []byte) (int, error) { return c.writeTo(t.Out, text) }
	}
	if _, err := write([]byte(text)); err != nil {
		return &OutputError{err}
	}
	return nil
}

// PrintJSON writes v to stdout as JSON, as [Terminal.PrintRaw] does.
func (t *Terminal) PrintJSON(v any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	return t.PrintRaw(line.Bytes())
}

// PrintRaw writes JSON to stdout with unchanged values: as one line, or indented on a terminal,
// unless OneLine is set. On a terminal, characters that could steer it become JSON escapes,
// which mean the same.
func (t *Terminal) PrintRaw(value json.RawMessage) error {
	if t.OutTTY && !t.OneLine {
		return t.printParts(Indented(bytes.TrimSpace(value))+"\n", cleantext.JSON)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, value); err != nil {
		return fmt.Errorf("the server's answer: %w", err)
	}
	line.WriteByte('\n')
	if !t.OutTTY {
		return t.Print(line.String())
	}
	return t.printParts(line.String(), cleantext.JSON)
}

// PrintPlain writes foreign text to stdout, made harmless.
func (t *Terminal) PrintPlain(text string) error { return t.printParts(text, cleantext.Text) }

// printPart is how many bytes are made harmless at a time, which may take six times
// their room.
const printPart = 1 << 20

// printParts writes text part by part, each changed before it is written. It divides
// no rune and no line end.
func (t *Terminal) printParts(text string, change func(string) string) error {
	for len(text) > printPart {
		end := plain.WholeRunes(text, printPart)
		if text[end-1] == '\r' {
			end--
		}
		if err := t.Print(change(text[:end])); err != nil {
			return err
		}
		text = text[end:]
	}
	return t.Print(change(text))
}

// PrintTable writes a table to stdout, as wide as the terminal is by now.
func (t *Terminal) PrintTable(rows plain.Table) error {
	width := t.Width
	if c, ok := t.Err.(*Console); ok && t.OutTTY && width > 0 && c.Size != nil {
		if columns, _ := c.Size(); columns > 0 { // a command that lasts may have seen it change
			width = columns
		}
	}
	headings, rest, _ := strings.Cut(rows.Format(width), "\n")
	return t.Print(t.StyleOut(Bold, headings) + "\n" + rest)
}

// Tell writes a label and a text to stderr. The text may be foreign: only its first row begins
// at the left edge, and the others begin behind a bar. Long text is cut, followed by a count of
// the missing bytes and by rest.
func (t *Terminal) Tell(style, label, text, rest string) {
	fmt.Fprint(t.Err, t.StyleErr(style, label), strings.TrimPrefix(t.Labelled(label, text, rest), label))
}

// Say writes a label and words of our own to stderr. A row that continues the one above it is indented.
func (t *Terminal) Say(style, label, text string) {
	fmt.Fprint(t.Err, t.StyleErr(style, label)+strings.TrimPrefix(t.Own("%s %s", label, cleantext.Readable(text)), label))
}

// Place tells the person the path of a file of their own. The path is not broken, so that it
// can be copied: if it does not fit behind the label, it has a row of its own.
func (t *Terminal) Place(label, path string) {
	path = cleantext.Visible(path)
	between := " "
	if plain.Width(label)+1+plain.Width(path) > t.Columns() {
		between = "\n  "
	}
	fmt.Fprintln(t.Err, t.StyleErr(Bold, label)+between+path)
}

// Warn tells the person on stderr of something after which the command goes on, unless
// they want it quiet.
func (t *Terminal) Warn(format string, args ...any) {
	if t.Quiet {
		return
	}
	t.Tell(Bold, "warning:", fmt.Sprintf(format, args...), "")
}

// Hint tells the person on stderr what to do about an error. Its text can be copied: rows below
// the first are indented and have no bar, and no word is broken. A word longer than a row has no
// blank, so it cannot pass for a row of the program's. A command in backquotes and a table of a
// configuration stay in one row if they fit into one.
func (t *Terminal) Hint(text string) {
	shown := plain.CutBytes(text, OfMessage.Bytes)
	columns := t.Columns() - plain.Width(Bar)
	whole := func(copied string) string {
		if plain.Width(copied) > columns {
			return copied
		}
		return strings.ReplaceAll(copied, " ", unbroken)
	}
	var rows []string
	for line := range strings.Lines(cleantext.Readable("hint: " + shown)) {
		for _, row := range plain.WrapWords(copied.ReplaceAllStringFunc(line, whole), columns) {
			rows = append(rows, strings.ReplaceAll(row, unbroken, " "))
		}
	}
	fenced := strings.TrimPrefix(Barred(rows, OfMessage.Rows, len(text)-len(shown), ""), Bar+"hint:")
	fmt.Fprint(t.Err, t.StyleErr(Bold, "hint:"), strings.ReplaceAll(fenced, "\n"+strings.TrimSpace(Bar), "\n "))
}

// copied matches what is copied as a whole, and unbroken stands for a blank in it: readable text
// has no such character.
var copied = lazyregexp.New("`[^`\n]+`|[A-Za-z_.-]+ = (?:\\{ .*? \\}|\"[^\"\n]*\")")

const unbroken = "\x00"

// Indented indents a value for people, who read letters in place of their escapes. A value that is
// nested so deep that most of the output would be margins stays as it is.
func Indented(value json.RawMessage) string {
	value = withLetters(value)
	added := margins(value)
	if added > 4*len(value)+1<<20 {
		return string(value)
	}
	var text bytes.Buffer
	text.Grow(len(value) + added)
	if err := json.Indent(&text, value, "", "  "); err != nil {
		return string(value)
	}
	return text.String()
}

// withLetters replaces each \u escape of a JSON text that stands for a printable character by that
// character, save those of quotes and backslashes. It returns value itself if there is none.
func withLetters(value []byte) []byte {
	if !bytes.Contains(value, []byte(`\u`)) {
		return value
	}
	out := make([]byte, 0, len(value))
	for len(value) > 0 {
		r, n := escape(value)
		switch {
		case unicode.IsPrint(r) && r != '"' && r != '\\' && r != utf8.RuneError:
			out = utf8.AppendRune(out, r)
		case value[0] == '\\' && len(value) > 1: // another escape, of which the next byte is a part
			n = 2
			out = append(out, value[:n]...)
		default:
			n = 1
			out = append(out, value[0])
		}
		value = value[n:]
	}
	return out
}

// escape returns the character of the \u escape at the beginning of a text, and how long the escape
// is. The character is below zero if there is none, and utf8.RuneError for half a pair.
func escape(text []byte) (r rune, n int) {
	unit := func(at int) rune {
		if len(text) < at+6 || text[at] != '\\' || text[at+1] != 'u' {
			return -1
		}
		code, err := strconv.ParseUint(string(text[at+2:at+6]), 16, 16)
		if err != nil {
			return -1
		}
		return rune(code)
	}
	if r = unit(0); utf16.IsSurrogate(r) {
		return utf16.DecodeRune(r, unit(6)), 12
	}
	return r, 6
}

// margins is how many bytes indenting adds to a value.
func margins(value []byte) (bytes int) {
	depth, quoted := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			bytes += 2*depth + 1
		case c == '}' || c == ']':
			depth--
			bytes += 2*depth + 1
		case c == ',':
			bytes += 2*depth + 1
		}
	}
	return bytes
}
