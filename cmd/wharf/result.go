package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// printResult prints the result of a call, and reports whether the tool says that it
// failed. A malformed result is printed too, because the call cannot be repeated to
// see it.
func (a *app) printResult(raw json.RawMessage) (failed bool, err error) {
	var result mcp.CallToolResult
	wrong := json.Unmarshal(raw, &result)
	var text string
	switch {
	case !a.forPeople():
		err = a.PrintRaw(raw)
	case wrong != nil:
		err = a.PrintPlain(endLine(indented(raw)))
	default:
		text = resultText(&result)
		err = a.PrintPlain(text)
	}
	switch {
	case err != nil:
	case wrong != nil:
		err = &resultError{a.server, mismatch(raw, wrong)}
	case text == "" && a.forPeople():
		fmt.Fprintln(a.Err, a.StyleErr(term.Bold, "note:"), "the result is empty")
	}
	return result.IsError, err
}

// resultError says that the answer to a call is not a tool result.
type resultError struct{ server, mismatch string }

func (e *resultError) Error() string {
	return fmt.Sprintf("call %s: the result is not one of a tool: %s", e.server, e.mismatch)
}

// Is makes it a protocol error.
func (e *resultError) Is(target error) bool { return target == host.ErrProtocol }

// mismatch says what is wrong with a tool result. If it is one of the content blocks,
// err says so.
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

// resultText is a result for people: its blocks one below the other. The structured
// content repeats the text, so it is shown only if there is no text.
func resultText(result *mcp.CallToolResult) string {
	var out strings.Builder
	text := false
	for i := range result.Content {
		block := &result.Content[i]
		text = text || block.Type == mcp.ContentText
		out.WriteString(endLine(blockText(block)))
	}
	if !text && len(result.StructuredContent) > 0 {
		out.WriteString(endLine(indented(result.StructuredContent)))
	}
	return out.String()
}

func endLine(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// blockText is one block: text as it is, binary data by its type and size.
func blockText(block *mcp.Content) string {
	switch block.Type {
	case mcp.ContentText:
		return block.Text
	case mcp.ContentImage, mcp.ContentAudio:
		return note(block.MIMEType, size(block.Data))
	case mcp.ContentResourceLink:
		return note(block.URI, block.MIMEType, block.Name)
	case mcp.ContentResource:
		return resourceText(block.Resource)
	}
	if block.Raw != nil {
		return indented(block.Raw)
	}
	return note(block.Type)
}

func resourceText(resource *mcp.ResourceContents) string {
	switch {
	case resource == nil:
		return note("empty resource")
	case resource.Blob != "":
		return note(resource.URI, resource.MIMEType, size(resource.Blob))
	}
	return resource.Text
}

// note returns the facts that are not empty, as "[a, b]". It stands for a block that is
// not printed.
func note(facts ...string) string {
	var known []string
	for _, fact := range facts {
		if fact != "" {
			known = append(known, plain.Line(fact))
		}
	}
	return "[" + strings.Join(known, ", ") + "]"
}

// size is the size of data in base64, when decoded.
func size(data string) string {
	bytes := len(strings.TrimRight(data, "=")) * 3 / 4
	if bytes == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// indented indents a value for people. A value that is nested so deep that most of the
// output would be margins stays as it is.
func indented(value json.RawMessage) string {
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

// about is the short description for people: the beginning of the description up to the
// first blank line, or else the title.
func about(description, title string) string {
	text, _, _ := strings.Cut(strings.TrimSpace(description), "\n\n")
	if text == "" {
		text = title
	}
	return plain.Clip(plain.Cell(text), aboutLetters)
}

// aboutLetters is what is shown of a description in a list: three lines of a terminal.
const aboutLetters = 220
