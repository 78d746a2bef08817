package args

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// Object is a JSON object of arguments, each value as it was written.
type Object map[string]json.RawMessage

// parseObject reads text as a JSON object. Names that come twice are errors:
// readers disagree on which of the two counts.
func parseObject(text string) (Object, error) {
	if err := validJSON(text); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	if open, _ := decoder.Token(); open != json.Delim('{') {
		return nil, fmt.Errorf("expected an object, got %s", mcp.KindOf([]byte(text)))
	}
	members := Object{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		key := name.(string) // validJSON has seen that it is one
		if _, twice := members[key]; twice {
			return nil, fmt.Errorf("%q comes twice", key)
		}
		var member json.RawMessage
		if err := decoder.Decode(&member); err != nil {
			return nil, err
		}
		members[key] = member
	}
	return members, nil
}

// validJSON returns what is wrong with text as one JSON value, and where.
func validJSON(text string) error {
	if !utf8.ValidString(text) {
		return errors.New("not UTF-8 text")
	}
	var any json.RawMessage
	err := json.Unmarshal([]byte(text), &any)
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case strings.TrimSpace(text) == "":
		return errors.New("not JSON: it is empty")
	case errors.As(err, &syntax):
		return fmt.Errorf("not JSON: %w at byte %d", err, syntax.Offset)
	}
	return fmt.Errorf("not JSON: %w", err)
}

// longestRequoted bounds the text that is repaired for a hint, in bytes.
const longestRequoted = 120

// jsonWord matches a text in quotes, or a word that JSON wants in quotes.
var jsonWord = lazyregexp.New(`"(?:[^"\\]|\\.)*"|'[^'"\\]*'|[A-Za-z_][A-Za-z0-9_./@-]*`)

// requote returns the object or array that was probably meant by a text which is none because a shell has
// taken its quotes, or because it is written as in JavaScript or Python. It returns "" if that is not clear.
func requote(text string) string {
	if len(text) > longestRequoted || !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") || json.Valid([]byte(text)) {
		return ""
	}
	text = jsonWord.ReplaceAllStringFunc(text, func(word string) string {
		switch {
		case strings.HasPrefix(word, `"`) || word == "true" || word == "false" || word == "null":
			return word
		}
		return plain.Quote(strings.Trim(word, "'"))
	})
	if !json.Valid([]byte(text)) {
		return ""
	}
	return text
}
