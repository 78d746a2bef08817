package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
)

// outputError is a write to stdout that did not work.
type outputError struct{ err error }

func (e *outputError) Error() string { return "write output: " + e.err.Error() }
func (e *outputError) Unwrap() error { return e.err }

// ExitKind makes it an end of its own.
func (e *outputError) ExitKind() exit.Kind { return exit.Kind{Code: exit.CodeInternal, Name: "output"} }

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
	return a.printParts(line.String(), plain.JSON)
}

// printPlain writes text of a stranger to stdout, as plain has it.
func (a *app) printPlain(text string) error { return a.printParts(text, plain.Text) }

// printPart is how many bytes are made harmless at a time, which may take six times
// their room.
const printPart = 1 << 20

// printParts writes text part by part, each changed before. No rune and no line end
// is in two of them.
func (a *app) printParts(text string, change func(string) string) error {
	for len(text) > printPart {
		end := plain.WholeRunes(text, printPart)
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

func (a *app) printTable(rows plain.Table) error {
	headings, rest, _ := strings.Cut(rows.Format(a.width), "\n")
	return a.print(a.styled(a.outTTY, styleBold, headings) + "\n" + rest)
}
