package args

import (
	"strings"

	"github.com/wharf-mcp/wharf/internal/lazyregexp"
)

// looksLikeKey reports whether key, the text before the first colon of a word, can be the name
// of an argument, and text its value. They cannot be in an address, a path with a drive, a time
// of day, or prose ("Note: …").
func looksLikeKey(key, text string) bool {
	drive := len(key) == 1 && strings.HasPrefix(text, "/")
	return !drive && IsKey(key) && text != "" && !strings.HasPrefix(text, "//") && !strings.ContainsRune("\\ \t\n", rune(text[0]))
}

// IsKey reports whether a word has the form that names of tools and of their arguments have.
func IsKey(word string) bool { return keyForm.MatchString(word) }

var keyForm = lazyregexp.New(`^[A-Za-z_][\w.-]*$`)
