package args

import (
	"encoding/json"
	"strings"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// looksLikeKey reports whether key, the text before the first colon of a word, can be the name
// of an argument, and text its value. They cannot be in an address, a path with a drive, a time
// of day, or prose ("Note: …").
func looksLikeKey(key, text string) bool {
	drive := len(key) == 1 && strings.HasPrefix(text, "/")
	return !drive && IsKey(key) && text != "" && !strings.HasPrefix(text, "//") && !strings.ContainsRune("\\ \t\n", rune(text[0]))
}

// Assignable reports whether key=value gives an argument of that name. Others are given in an object.
func Assignable(key string) bool {
	return key != "" && !strings.HasPrefix(key, "-") && !strings.HasPrefix(key, "{") && !strings.HasSuffix(key, ":") && !strings.Contains(key, "=")
}

// objectOf returns an object of one member.
func objectOf(key string, value json.RawMessage) string {
	return "{" + plain.Quote(key) + ":" + string(value) + "}"
}

// Object returns an object that gives an argument a value, as key=value would.
func (s *Schema) Object(key, text string) string {
	value, ok := coerce(text, s.Types(key))
	if !ok {
		value = json.RawMessage(plain.Quote(text))
	}
	return objectOf(key, value)
}

// IsKey reports whether a word has the form that names of tools and of their arguments have.
func IsKey(word string) bool { return keyForm.MatchString(word) }

var keyForm = lazyregexp.New(`^[A-Za-z_][\w.-]*$`)
