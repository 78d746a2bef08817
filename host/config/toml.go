package config

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/BurntSushi/toml"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// readTOML parses a file in TOML.
func readTOML(path, text string) (*document, error) {
	if err := checkShape(text); err != nil {
		return nil, &Error{File: path, Problem: err.Error()}
	}
	d := &document{path: path, keys: &branch{}, line: linesOfTOML(text)}
	meta, err := toml.Decode(text, &d.root)
	var syntax toml.ParseError
	switch {
	case errors.As(err, &syntax):
		// The line is counted here: the library's own is one too high where it stops at the end
		// of a line. Its offset is -1 for a file that begins with a control character.
		at := min(max(syntax.Position.Start, 0), len(text))
		if brace := openBrace(text, at); brace >= 0 {
			return nil, &Error{File: path, Line: 1 + strings.Count(text[:brace], "\n"), Problem: "is not TOML: the { of this line is not closed"}
		}
		line := 1 + strings.Count(text[:at], "\n")
		message := syntax.Message
		if !strings.Contains(text, "\x00") { // the library's letter for the end
			message = strings.Replace(message, `but got '\x00' instead`, "but the file ends", 1)
		}
		return nil, &Error{File: path, Line: line, Problem: "is not TOML: " + strings.TrimSuffix(message, ".") + remedyInTOML(text, line, message)}
	case err != nil:
		return nil, &Error{File: path, Problem: "is not TOML: " + err.Error()}
	}
	for _, key := range meta.Keys() {
		d.keys.grow(key, 0)
	}
	return d, nil
}

// openBrace returns the offset of the last { before at that nothing closes, or -1. It also
// returns -1 if a string does not end, or if a bracket closes that did not open, since then no
// pair of brackets is certain.
func openBrace(text string, at int) int {
	var open []int
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '#':
			comment, _, _ := strings.Cut(text[i:], "\n")
			i += len(comment)
		case '"', '\'':
			length := stringLength(text[i:], c)
			if length < 2 || text[i+length-1] != c {
				return -1
			}
			i += length - 1
		case '[', '{':
			open = append(open, i)
		case ']', '}':
			last := len(open) - 1
			if last < 0 || text[open[last]] != c-2 { // in ASCII, [ is ] - 2, and { is } - 2
				return -1
			}
			open = open[:last]
		}
	}
	for _, i := range slices.Backward(open) {
		if i < at && text[i] == '{' {
			return i
		}
	}
	return -1
}

// remedyInTOML says what is usually wrong with a line that is not TOML, by the line's text and the message of the
// library.
func remedyInTOML(text string, line int, message string) string {
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		return "; this looks like JSON: name the file .json"
	}
	if strings.HasPrefix(strings.TrimSpace(text), "<") {
		return "; this looks like XML or HTML, which no client's configuration is"
	}
	lines := strings.Split(text, "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	_, value, _ := strings.Cut(lines[line-1], "=")
	value = strings.TrimSpace(value)
	switch {
	case strings.Contains(message, "already been defined"):
		return "; take one of the two out"
	case strings.HasPrefix(strings.TrimSpace(lines[line-1]), "[") && strings.Contains(strings.TrimSpace(lines[line-1]), " "):
		return "; a name with a blank is written in quotes"
	case strings.Contains(message, "to end table name"):
		return "; a ] is missing"
	case strings.HasSuffix(message, `array terminator (']'), but got '"'`), strings.HasSuffix(message, `array terminator (']'), but got '''`):
		return "; a comma is missing before it"
	case strings.Contains(message, "newlines"), strings.HasSuffix(message, `expected '"'`), strings.HasSuffix(message, `expected "'"`):
		return "; close the quote on the line that opens it"
	case strings.Contains(message, "expected '.' or '='") && strings.Contains(message, "':'"):
		return "; write = between a key and its value"
	case strings.Contains(message, "expected value") && value == "", strings.Contains(message, "expected key separator"):
		return "; a value is missing"
	case strings.ContainsAny(value, "“”„‘’") && !strings.ContainsAny(value, `"'`):
		return `; write straight quotes, ", in place of curly ones`
	case strings.Contains(value, `"`) && strings.Contains(value, `\`):
		return `; write \ twice, or the text in single quotes`
	case value != "" && unicode.IsLetter(rune(value[0])), unquotedTime.MatchString(value):
		return "; write a text in quotes"
	}
	return ""
}

// unquotedTime matches a duration or a size without its quotes.
var unquotedTime = lazyregexp.New(`^[0-9.]+\s*[A-Za-z]+$`)

// linesOfTOML returns a function that finds the line of a key in a text that BurntSushi/toml has read.
// That library tells positions only in its errors, so another one parses the text once more, at the
// first use. A key that the other does not understand has no line.
func linesOfTOML(text string) func(keys ...string) int {
	read := sync.OnceValue(func() *branch { return tomlKeys(text) })
	return func(keys ...string) int { return read().lineAt(keys...) }
}

// tomlKeys returns the keys of a text with their lines.
func tomlKeys(text string) *branch {
	keys, line, at := &branch{}, 1, 0
	lineOf := func(node *unstable.Node) int { // nodes are seen in the order of the text
		key := node.Key()
		key.Next()
		offset := int(key.Node().Raw.Offset)
		line, at = line+strings.Count(text[at:max(at, offset)], "\n"), max(at, offset)
		return line
	}
	var pair func(node *unstable.Node, table []string)
	pair = func(node *unstable.Node, table []string) {
		path := slices.Concat(table, namesOf(node))
		keys.grow(path, lineOf(node))
		if value := node.Value(); value.Kind == unstable.InlineTable {
			for it := value.Children(); it.Next(); {
				if inner := it.Node(); inner.Kind == unstable.KeyValue {
					pair(inner, path)
				}
			}
		}
	}
	var p unstable.Parser
	var table []string
	for p.Reset([]byte(text)); p.NextExpression(); {
		if node := p.Expression(); node.Kind == unstable.KeyValue {
			pair(node, table)
		} else {
			table = namesOf(node)
			keys.grow(table, lineOf(node))
		}
	}
	return keys
}

// namesOf returns the names of a key.
func namesOf(node *unstable.Node) (path []string) {
	for key := node.Key(); key.Next(); {
		if key.Node().Kind == unstable.Key { // not the comment behind it
			path = append(path, string(key.Node().Data))
		}
	}
	return path
}
