package args

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/exit"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// looksLikeKey reports whether key, the text before the first colon of a word, can be the name
// of an argument, and text its value. They cannot be in an address, a path with a drive, a time
// of day, or prose ("Note: …").
func looksLikeKey(key, text string) bool {
	drive := len(key) == 1 && strings.HasPrefix(text, "/")
	return !drive && !address.MatchString(key+":"+text) && IsKey(key) && text != "" && !strings.HasPrefix(text, "//") && !strings.ContainsRune("\\ \t\n", rune(text[0]))
}

// address matches addresses that have no // behind the scheme.
var address = lazyregexp.New(`^(?i:mailto:[^@\s]+@|data:[^,\s]*,|urn:[a-z0-9][a-z0-9-]*:|tel:\+)`)

// Assignable reports whether key=value gives an argument of that name. Others are given in an object.
func Assignable(key string) bool {
	return key != "" && !strings.HasPrefix(key, "-") && !strings.HasPrefix(key, "{") && !strings.HasSuffix(key, ":") && !strings.Contains(key, "=")
}

// IsPair reports whether a word is key=value, whatever the schema is. A word with another equals sign, such as that of an
// address or the padding of Base64, is a value unless the schema has its key, see [Schema.IsPair].
func IsPair(word string) bool {
	key, _, found := cutPair(word)
	return found && !isPadded(word) && !strings.ContainsFunc(key, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`/\:?&#%`, r) })
}

// IsPair reports whether a word is key=value for a tool with the schema.
func (s *Schema) IsPair(word string) bool {
	key, _, found := cutPair(word)
	_, known := s.properties[key]
	_, nearly := s.properties[strings.TrimSpace(key)]                        // which is a slip, and no value
	keyed := isPadded(word) && (len(s.properties) == 0 || s.near(key) != "") // and no Base64
	return IsPair(word) || found && (known || nearly || s.member(key) != nil || keyed)
}

// isPadded reports whether a word may be Base64 with its padding; it may also be a key with an empty text.
func isPadded(word string) bool { return len(word)%4 == 0 && paddedForm.MatchString(word) }

var paddedForm = lazyregexp.New(`^[\w+/-]+={1,2}$`)

// cutPair cuts a word at its first "=" or ":=".
func cutPair(word string) (key, text string, found bool) {
	key, text, found = strings.Cut(word, "=")
	return strings.TrimSuffix(key, ":"), text, found
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

// apart returns the error for a word whose "=" is separated from its key or its value by blanks.
func apart(words []string, i int) error {
	if i == 0 {
		return nil
	}
	key, word := words[i-1], words[i]
	given := strings.TrimSuffix(strings.TrimSuffix(key, "="), ":") != key && IsKey(strings.TrimRight(key, ":="))
	label, text, pair := strings.Cut(word, ":")
	switch pair = pair && looksLikeKey(label, text); {
	case IsKey(key) && (word == "=" || word == ":="):
		key += word
		if word = "…"; i+1 < len(words) {
			word = words[i+1]
		}
	case IsKey(key) && strings.HasPrefix(word, "="):
		key, word = key+"=", word[1:]
	case !given || !strings.HasSuffix(key, "=") || pair || IsPair(word) || strings.HasPrefix(word, "{"):
		return nil
	}
	return exit.Usage(fmt.Errorf("argument %q: its value must come right after the =", plain.Clip(key, 40)), "write %s", plain.ShellWord(plain.Clip(key+word, 80)))
}
