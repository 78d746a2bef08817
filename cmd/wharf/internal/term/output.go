package term

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/cleantext"
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

// PrintJSON writes v to stdout as one line of JSON.
func (t *Terminal) PrintJSON(v any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	return t.PrintRaw(line.Bytes())
}

// PrintRaw writes JSON to stdout as one line, its values as they are. On a terminal
// the characters that could steer it are written as JSON escapes, which mean the
// same.
func (t *Terminal) PrintRaw(value json.RawMessage) error {
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

// PrintTable writes a table to stdout, as wide as the terminal.
func (t *Terminal) PrintTable(rows plain.Table) error {
	headings, rest, _ := strings.Cut(rows.Format(t.Width), "\n")
	return t.Print(t.StyleOut(Bold, headings) + "\n" + rest)
}

// Warn tells the person on stderr of something after which the command goes on.
func (t *Terminal) Warn(format string, args ...any) {
	text := "warning: " + fmt.Sprintf(format, args...)
	if t.ErrTTY {
		text = t.Fold(text)
	}
	fmt.Fprintf(t.Err, "%s%s\n", t.StyleErr(Bold, "warning:"), strings.TrimPrefix(cleantext.Text(text), "warning:"))
}
