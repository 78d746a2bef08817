package config

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/BurntSushi/toml"
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
		return nil, &Error{File: path, Line: line, Problem: "is not TOML: " + syntax.Message + remedyInTOML(text, line)}
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

// remedyInTOML says what is usually wrong with a line that is not TOML, by the line's text.
func remedyInTOML(text string, line int) string {
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
	case strings.Contains(value, `"`) && strings.Contains(value, `\`):
		return `; write \ twice, or the text in single quotes`
	case value != "" && unicode.IsLetter(rune(value[0])):
		return "; write a text in quotes"
	}
	return ""
}

// Bounds of finding the lines of keys. To find one line, the whole file is decoded once more. A
// person does not read more errors than that.
const (
	maxLines  = 200
	maxPassed = 4 << 20 // bytes of all passes
)

// linesOfTOML returns a function that finds the line of a key. The library tells positions only
// in its errors, so the function decodes the value once more into a type that refuses it.
func linesOfTOML(text string) func(keys ...string) int {
	root := make(map[string]toml.Primitive)
	meta, err := toml.Decode(text, &root)
	left := min(maxLines, maxPassed/(len(text)+1))
	return func(keys ...string) int {
		if left--; err != nil || left < 0 {
			return 0
		}
		return lineOfTOML(&meta, root, keys)
	}
}

func lineOfTOML(meta *toml.MetaData, table map[string]toml.Primitive, keys []string) int {
	value, found := table[keys[0]]
	if !found {
		return 0
	}
	if len(keys) == 1 {
		var at toml.ParseError
		errors.As(meta.PrimitiveDecode(value, &stop{}), &at)
		return at.Position.Line
	}
	inner := make(map[string]toml.Primitive)
	if err := meta.PrimitiveDecode(value, &inner); err != nil {
		return 0
	}
	return lineOfTOML(meta, inner, keys[1:])
}

// stop is a type that refuses any value.
type stop struct{}

func (*stop) UnmarshalTOML(any) error { return errors.ErrUnsupported }
