package args

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
)

// Call is a word that names a tool, or is a whole call, tool(JSON, key: JSON, …).
type Call struct {
	Tool string

	object string            // the pairs, as JSON; "" without pairs and without parentheses
	values []json.RawMessage // those without a key
}

// ReadCall reads a word.
func ReadCall(word string) (Call, error) {
	tool, rest, found := strings.Cut(word, "(")
	rest = strings.TrimRight(rest, " \t\n")
	inside, closed := strings.CutSuffix(rest, ")")
	if !found || tool == "" || !closed && !IsKey(tool) {
		return Call{Tool: word}, nil
	}
	if !closed {
		return Call{Tool: tool}, unclosed(word, tool, rest)
	}
	call := Call{Tool: strings.TrimRight(tool, " ")}
	if err := call.read(inside); err != nil {
		if wrong := (*wrongValue)(nil); errors.As(err, &wrong) && wrong.write != "" {
			return call, exit.Usage(fmt.Errorf("%s: %w", plain.Clip(word, 60), err), "%s", wrong.write)
		}
		return call, exit.Usage(fmt.Errorf("%s: %w", plain.Clip(word, 60), err), asCall, tool, tool)
	}
	return call, nil
}

const asCall = `write %s("text", 1) or %s(key: "text", other: 1), in quotes of the shell`

// unclosed returns the error of a call that does not end with its closing parenthesis. rest is what
// stands behind the opening one. The server that a person may have written before the tool is not
// known here: the hint says what to append, and not what to write in place of all.
func unclosed(word, tool, rest string) error {
	at, trial := strings.LastIndexByte(rest, ')'), Call{}
	if at >= 0 && trial.read(rest[:at]) == nil {
		return exit.Usage(fmt.Errorf("%q: %q stands behind the closing parenthesis", plain.Clip(word, 60), plain.Clip(strings.TrimSpace(rest[at+1:]), 40)),
			"leave it out, or write it as an argument within the parentheses")
	}
	err := fmt.Errorf("%q: the closing parenthesis is missing", plain.Clip(word, 60))
	if trial.read(rest) != nil {
		return exit.Usage(err, asCall, tool, tool)
	}
	return exit.Usage(err, "write it with a ) at its end, in quotes of the shell")
}

// read reads what stands in the parentheses, see [readValue]: values and key: value, separated by commas. One
// object alone holds all arguments, as in JavaScript.
func (c *Call) read(text string) error {
	if text = strings.TrimSpace(text); strings.HasPrefix(text, "{") {
		if object, after, err := readValue(text, 0); err == nil && after == "" {
			c.object = string(object)
			return nil
		}
	}
	pairs := [][]byte{}
	_, after, err := readItems(text+")", ")", func(rest string) (_ []byte, after string, err error) {
		if key, value, found := cutKey(rest); found && !beginsAddress(rest, key, value) {
			pair, after, err := readPair(rest, 0)
			pairs = append(pairs, pair)
			return nil, after, err
		}
		value, after, err := readValue(rest, 0)
		if wrong := (*wrongValue)(nil); errors.As(err, &wrong) && wrong.at == rest {
			wrong.expected = "a JSON value, or key: value"
		}
		c.values = append(c.values, value)
		return nil, after, err
	})
	if err == nil && after != "" {
		err = fmt.Errorf("expected a comma, got %q", plain.Clip(")"+strings.TrimSuffix(after, ")"), 40))
	}
	if len(pairs) > 0 || len(c.values) == 0 {
		c.object = object(pairs)
	}
	return err
}

func object(pairs [][]byte) string { return "{" + string(bytes.Join(pairs, []byte(","))) + "}" }

// readItems reads items with commas between them, up to a bracket that closes them. A comma may follow the last.
func readItems(text, closing string, read func(string) (item []byte, after string, err error)) (items [][]byte, after string, err error) {
	for {
		text = strings.TrimSpace(text)
		if after, closed := strings.CutPrefix(text, closing); closed {
			return items, strings.TrimSpace(after), nil
		}
		item, after, err := read(text)
		if err != nil {
			return nil, "", err
		}
		items = append(items, item)
		comma := false
		if text, comma = strings.CutPrefix(after, ","); comma || strings.HasPrefix(after, closing) {
			continue
		}
		if after = strings.TrimSuffix(after, ")"); after == "" {
			return nil, "", fmt.Errorf("the closing %s is missing", closing)
		}
		return nil, "", fmt.Errorf("expected a comma, got %q", plain.Clip(after, 40))
	}
}

// wrongValue is the error of a text that is not what was expected.
type wrongValue struct {
	keys     string // before the text, with colons: "a: b: "
	expected string
	at       string // the text, and what follows
	write    string // what was probably meant; "" is not known
}

func (e *wrongValue) Error() string {
	got := strings.TrimSpace(strings.TrimSuffix(e.at, ")"))
	return fmt.Sprintf("%sexpected %s, got %q", e.keys, e.expected, plain.Clip(got, 40))
}

// cutKey returns the key that a text begins with, in quotes or without, and what follows the colon.
func cutKey(text string) (key, value string, found bool) {
	if raw, after, err := readText(text); err == nil {
		value, found = strings.CutPrefix(after, ":")
		return key, value, found && json.Unmarshal(raw, &key) == nil
	}
	end := strings.IndexAny(text, ":,=\"'{}[]()")
	if end < 0 || text[end] != ':' {
		return "", "", false
	}
	key = strings.TrimSpace(text[:end])
	return key, text[end+1:], key != ""
}

// beginsAddress reports whether a key that stands without quotes is the scheme of an address or the drive of a path.
func beginsAddress(text, key, value string) bool {
	drive := len(key) == 1 && value != "" && strings.Contains(`/\`, value[:1])
	return strings.HasPrefix(text, key) && (drive || strings.HasPrefix(value, "//"))
}

// readPair reads key: value, and returns it as a member of an object, and what follows.
func readPair(text string, depth int) (pair []byte, after string, err error) {
	key, value, found := cutKey(text)
	if !found {
		return nil, "", &wrongValue{expected: "key: value", at: text, write: withColon(text)}
	}
	raw, after, err := readValue(strings.TrimSpace(value), depth)
	if wrong := (*wrongValue)(nil); errors.As(err, &wrong) {
		wrong.keys = plain.Clip(key, 40) + ": " + wrong.keys
	}
	return append([]byte(plain.Quote(key)+":"), raw...), after, err
}

// withColon returns what to write for a pair with an equals sign, or "".
func withColon(text string) string {
	first, _, _ := strings.Cut(text, ",")
	word, given, equals := strings.Cut(strings.TrimRight(first, ")]}"), "=")
	if word = strings.TrimSpace(word); !equals || !IsKey(word) {
		return ""
	}
	given = strings.TrimSpace(given)
	if text := quoted(given); text != "" && !json.Valid([]byte(given)) {
		given = text
	}
	return fmt.Sprintf("a colon comes after a key: %s: %s", word, plain.Clip(given, longestQuoted))
}

// inQuotes returns what to write for a text that lacks its quotes, or "" if it is no text.
func inQuotes(text string) string {
	if end := strings.IndexAny(text, ",)]}"); end >= 0 {
		text = text[:end]
	}
	if text = quoted(text); text == "" {
		return ""
	}
	return "write a text in double quotes: " + text
}

// quoted returns a text in quotes, or "" if it is no text, or too long for a hint.
func quoted(text string) string {
	if text = strings.TrimSpace(text); text == "" || len(text) > longestQuoted || strings.ContainsAny(text, `"'{[(`) {
		return ""
	}
	return plain.Quote(text)
}

const longestQuoted = 200 // bytes

// maxDepth is how deep values may be within each other.
const maxDepth = 1000

// readValue reads the value that a text begins with, and returns it as JSON, and what follows. As in JavaScript,
// keys need no quotes, a text may have single ones, and a comma may follow the last item.
func readValue(text string, depth int) (raw json.RawMessage, after string, err error) {
	if depth == maxDepth {
		return nil, "", errors.New("it is nested too deep")
	}
	inner := func(read func(string, int) ([]byte, string, error)) func(string) ([]byte, string, error) {
		return func(text string) ([]byte, string, error) { return read(text, depth+1) }
	}
	var items [][]byte
	switch {
	case strings.HasPrefix(text, "{"):
		items, after, err = readItems(text[1:], "}", inner(readPair))
		return json.RawMessage(object(items)), after, err
	case strings.HasPrefix(text, "["):
		items, after, err = readItems(text[1:], "]", inner(func(text string, depth int) ([]byte, string, error) { return readValue(text, depth) }))
		return json.RawMessage("[" + string(bytes.Join(items, []byte(","))) + "]"), after, err
	case strings.HasPrefix(text, "'"):
		raw, after, err = readText(text)
	default:
		raw, after, err = readJSON(text)
	}
	if err != nil {
		wrong := &wrongValue{expected: "a JSON value", at: text, write: cmp.Or(withColon(text), inQuotes(text))}
		return nil, "", wrong
	}
	return raw, after, nil
}

// readText reads a text in double or single quotes, and returns it as JSON, and what follows.
func readText(text string) (raw json.RawMessage, after string, err error) {
	if strings.HasPrefix(text, `"`) {
		return readJSON(text)
	}
	out := []byte{'"'}
	for i := 1; strings.HasPrefix(text, "'") && i < len(text); i++ {
		switch escaped := text[i:min(i+2, len(text))]; {
		case escaped == `\'`:
			out = append(out, '\'')
			i++
		case text[i] == '\\':
			out = append(out, escaped...)
			i++
		case text[i] == '"':
			out = append(out, `\"`...)
		case text[i] != '\'':
			out = append(out, text[i])
		default:
			if out = append(out, '"'); !json.Valid(out) {
				return nil, "", errors.New("it has an escape that JSON does not have")
			}
			return out, strings.TrimSpace(text[i+1:]), nil
		}
	}
	return nil, "", errors.New("it is no text in quotes")
}

// readJSON reads the JSON value that a text begins with, and returns what follows.
func readJSON(text string) (raw json.RawMessage, after string, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	if err = decoder.Decode(&raw); err != nil {
		return nil, "", err
	}
	return raw, strings.TrimSpace(text[decoder.InputOffset():]), nil
}
