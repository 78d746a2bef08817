package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

const (
	maxDepth = 200 // how deep the values of a JSON file may nest
	keyDepth = 6   // how deep keys are remembered: projects, a folder, mcpServers, a server, env, a variable
	maxTwice = 16  // how many of the keys that stand twice are reported
)

var errDepth = errors.New("it nests too deeply")

// readJSON parses a file in JSON. It allows comments, and commas before a closing bracket, as
// editors do.
func readJSON(path string, data []byte) (*document, error) {
	data = strict(data)
	w := &jsonReader{data: data, dec: json.NewDecoder(bytes.NewReader(data)), keys: &branch{}, lines: 1}
	w.dec.UseNumber()
	root, err := w.value(nil)
	if errors.Is(err, io.EOF) {
		err = errors.New("it ends too early")
		if len(bytes.TrimSpace(data)) == 0 {
			err = errors.New(`it is empty; expected {"mcpServers": {…}}`)
		}
	} else if err == nil {
		if _, err = w.dec.Token(); err == nil {
			err = errors.New("something follows its end")
		}
	}
	if err != nil && err != io.EOF {
		line, remedy := w.remedy(err)
		return nil, &Error{File: path, Line: line, Problem: "is not JSON: " + err.Error() + remedy}
	}
	table, ok := root.(map[string]any)
	if !ok {
		return nil, &Error{File: path, Line: 1, Problem: `expected an object: {"mcpServers": {…}}`}
	}
	return &document{path: path, root: table, keys: w.keys, line: w.keys.lineAt, format: formatJSON, twice: w.twice}, nil
}

// jsonReader reads values token by token, to learn the line of each key.
type jsonReader struct {
	data []byte
	dec  *json.Decoder
	keys *branch

	twice []Error

	offset int // lines is the line of this offset
	lines  int
}

func (w *jsonReader) value(path []string) (any, error) {
	if len(path) > maxDepth {
		return nil, errDepth
	}
	token, err := w.dec.Token()
	switch token {
	case json.Delim('{'):
		return w.object(path)
	case json.Delim('['):
		return w.array(path)
	}
	return token, err
}

func (w *jsonReader) object(path []string) (map[string]any, error) {
	table := make(map[string]any)
	for w.dec.More() {
		token, err := w.dec.Token()
		if err != nil {
			return nil, err
		}
		key := token.(string) // the decoder lets nothing else stand here
		inner := append(path[:len(path):len(path)], key)
		if len(inner) <= keyDepth {
			if _, again := table[key]; again {
				if w.keys.cut(inner); len(w.twice) < maxTwice {
					w.twice = append(w.twice, Error{Line: w.line(), Field: strings.Join(inner, "."), Problem: "stands twice; the last one counts"})
				}
			}
			w.keys.grow(inner, w.line())
		}
		if table[key], err = w.value(inner); err != nil {
			return nil, err
		}
	}
	_, err := w.dec.Token()
	return table, err
}

func (w *jsonReader) array(path []string) ([]any, error) {
	list := []any{}
	inner := append(path[:len(path):len(path)], "")
	for w.dec.More() {
		v, err := w.value(inner)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := w.dec.Token()
	return list, err
}

// remedy says what is usually wrong at the point where the text stops being JSON. line is the line
// of the mistake.
func (w *jsonReader) remedy(err error) (line int, text string) {
	line = w.line()
	if !errors.As(err, new(*json.SyntaxError)) {
		return line, ""
	}
	if table.Match(w.data) {
		return line, "; this looks like TOML: name the file .toml"
	}
	rest := bytes.TrimLeft(w.data[w.dec.InputOffset():], " \t\r\n,:")
	at := line + bytes.Count(w.data[w.dec.InputOffset():len(w.data)-len(rest)], []byte("\n"))
	next, _ := utf8.DecodeRune(rest)
	switch {
	case next == '#':
		return at, "; a comment begins with //"
	case next == '"' && badEscape.Match(rest[:endOfString(rest, 0)]):
		return at, `; write \ twice`
	case strings.ContainsRune(`"{[`, next):
		return line, "; is a comma or a colon missing before it?"
	case strings.ContainsRune("‘’“”„", next):
		return at, fmt.Sprintf(`; write " in place of %c`, next)
	case next == '\'', unicode.IsLetter(next), unicode.IsDigit(next):
		return at, "; write names and texts in double quotes"
	}
	return at, ""
}

var (
	// table matches the heading of a table in TOML at the beginning of a file.
	table = lazyregexp.New(`^\s*\[[A-Za-z]`)

	badEscape = lazyregexp.New(`^"(?:[^\\"]|\\["\\/bfnrtu])*\\[^"\\/bfnrtu]`)
)

// line returns the line of the token that was read last.
func (w *jsonReader) line() int {
	if to := int(w.dec.InputOffset()); to > w.offset {
		w.lines += bytes.Count(w.data[w.offset:to], []byte("\n"))
		w.offset = to
	}
	return w.lines
}

// strict replaces comments, and commas before a closing bracket, by spaces, and leaves
// everything else where it is.
func strict(data []byte) []byte {
	out := bytes.Clone(data)
	comma := -1 // of a comma that nothing followed yet
	for i := 0; i < len(out); {
		switch c := out[i]; {
		case c == '"':
			i, comma = endOfString(out, i), -1
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			end := endOfComment(out, i)
			blank(out[i:end])
			i = end
		case c == ',':
			comma = i
			i++
		case (c == '}' || c == ']') && comma >= 0:
			out[comma], comma = ' ', -1
			i++
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
		default:
			comma = -1
			i++
		}
	}
	return out
}

// endOfString returns the offset behind the string that begins at i.
func endOfString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

// endOfComment returns the offset behind the comment that begins at i.
func endOfComment(data []byte, i int) int {
	marker, extra := "\n", 0
	if data[i+1] == '*' {
		marker, extra = "*/", 2
	}
	n := bytes.Index(data[i+2:], []byte(marker))
	if n < 0 {
		return len(data)
	}
	return i + 2 + n + extra
}

func blank(data []byte) {
	for i, c := range data {
		if c != '\n' {
			data[i] = ' '
		}
	}
}
