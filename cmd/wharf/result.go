package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// printResult prints the result of a call, and reports whether the tool says that it failed. It
// also prints a malformed result, because the call cannot be repeated to see it.
func (a *app) printResult(raw json.RawMessage) (failed bool, err error) {
	var result mcp.CallToolResult
	wrong := json.Unmarshal(raw, &result)
	if mcp.KindOf(raw) == "null" { // which encoding/json takes for an empty object
		wrong = errors.New("expected an object, got null")
	}
	r := a.newRenderer()
	var text string
	if wrong == nil && r.needed() {
		text = r.result(&result)
	}
	switch {
	case !a.forPeople():
		err = a.PrintRaw(raw)
	case wrong != nil:
		err = a.PrintPlain(endLine(term.Indented(raw)))
	default:
		err = a.PrintPlain(text)
		if err == nil {
			err = a.Print(r.pictures.String()) // below the text, which says what they are
		}
	}
	switch {
	case err != nil:
	case wrong != nil:
		err = &resultError{a.server, mismatch(raw, wrong)}
	case text == "" && a.forPeople():
		fmt.Fprintln(a.Err, a.StyleErr(term.Bold, "note:"), "the result is empty")
	}
	return result.IsError, cmp.Or(err, r.err)
}

// resultError says that the answer to a call is not a tool result.
type resultError struct{ server, mismatch string }

func (e *resultError) Error() string {
	return fmt.Sprintf("call %s: the result is not one of a tool: %s", e.server, e.mismatch)
}

// Is makes the error one of the protocol, which decides the exit code.
func (e *resultError) Is(target error) bool { return target == host.ErrProtocol }

// mismatch says what is wrong with a tool result. err says so if a content block is wrong.
func mismatch(raw json.RawMessage, err error) string {
	var members struct{ Content, IsError, ResultType json.RawMessage }
	if json.Unmarshal(raw, &members) != nil {
		return "expected an object, got " + mcp.KindOf(raw)
	}
	for _, m := range []struct {
		name, want string
		value      json.RawMessage
	}{{"content", "an array", members.Content}, {"isError", "a boolean", members.IsError}, {"resultType", "a string", members.ResultType}} {
		if m.value == nil {
			continue
		}
		if kind := mcp.KindOf(m.value); kind != "null" && !strings.HasSuffix(m.want, kind) {
			return fmt.Sprintf("%s: expected %s, got %s", m.name, m.want, kind)
		}
	}
	return err.Error()
}

// about returns the short description for people: the beginning of the description up to the first
// blank line, or else the title.
func about(description, title string) string {
	text, _, _ := strings.Cut(strings.TrimSpace(description), "\n\n")
	text = cmp.Or(text, title)
	if len(text) > 2*aboutLetters { // more is not looked at: there may be 10,000 of them
		text = text[:plain.WholeRunes(text, 2*aboutLetters)] + "…"
	}
	return plain.ClipWords(plain.Line(text), aboutLetters)
}

// aboutLetters is how many letters of a description a list shows: three lines of a terminal.
const aboutLetters = 220
