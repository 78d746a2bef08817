package redact

import (
	"bytes"

	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// JSON returns a message without the secrets of the set, and with a mark for the value of each
// member whose name sounds secret. It takes any bytes: it reads text that is not JSON as far as
// that looks like JSON, and returns text without secrets byte for byte. If cut says that the
// message was cut, it also removes an end that may be the beginning of a secret.
func (s *Set) JSON(msg []byte, cut bool) []byte {
	if cut {
		msg = s.RedactCut(msg)
	} else {
		msg = s.Redact(msg)
	}
	return s.members(msg, cut, 0)
}

// maxNested is the depth to which JSON in strings of JSON is read, because many tools answer with
// JSON as text.
const maxNested = 3

// members hides the values of members whose names sound secret.
func (s *Set) members(text []byte, cut bool, nested int) []byte {
	l := jsonLexer{set: s, src: text, out: make([]byte, 0, len(text)), cut: cut, nested: nested}
	for l.pos < len(l.src) {
		l.step()
	}
	return l.out
}

// jsonLexer copies JSON from src to out, without secrets. It knows strings, names and
// brackets but not the grammar, since a message may turn out not to be JSON.
type jsonLexer struct {
	set      *Set
	src, out []byte
	pos      int
	cut      bool // src was cut
	nested   int  // how many strings src is nested in

	// The properties of a JSON schema have the names of secrets, but are not secret. schemas
	// has one element for each open object: whether it holds the properties of a schema.
	schemas []bool
	schema  bool // whether the next object is
}

func (l *jsonLexer) step() {
	switch c := l.src[l.pos]; c {
	case '"':
		l.text()
		return
	case '{':
		l.schemas = append(l.schemas, l.schema)
	case '}':
		l.schemas = l.schemas[:max(0, len(l.schemas)-1)]
	}
	l.out = append(l.out, l.src[l.pos])
	l.schema = false
	l.pos++
}

// text copies a string. If the string is the name of a member, it also decides about the member's
// value.
func (l *jsonLexer) text() {
	raw, whole := l.token(l.pos)
	after := l.pos + len(raw)
	value := l.blank(after)
	if !whole || value >= len(l.src) || l.src[value] != ':' {
		l.pos, l.schema = after, false
		l.copy(raw, whole)
		return
	}
	l.copy(raw, true)
	value = l.blank(value + 1)
	l.out = append(l.out, l.src[after:value]...)
	l.pos = value
	l.member(string(strictjson.Unquote(raw)))
}

// member hides the value that begins here if its name sounds secret.
func (l *jsonLexer) member(name string) {
	inSchema := len(l.schemas) > 0 && l.schemas[len(l.schemas)-1]
	l.schema = name == "properties" && !inSchema
	if l.pos >= len(l.src) || !secret.Key(name) {
		return
	}
	if l.src[l.pos] == '{' && inSchema {
		return // a schema says what the secret looks like
	}
	end := l.skip(l.pos)
	switch string(bytes.TrimSpace(l.src[l.pos:end])) {
	case "", "null", "true", "false":
		return // such a value reveals nothing
	}
	l.pos = end
	l.out = append(append(append(l.out, '"'), secret.Mark...), '"')
}

// token returns the string that begins at i, and whether it ends.
func (l *jsonLexer) token(i int) (raw []byte, whole bool) {
	for end := i + 1; end < len(l.src); end++ {
		switch l.src[end] {
		case '\\':
			end++
		case '"':
			return l.src[i : end+1], true
		}
	}
	return l.src[i:], false
}

// blank returns the offset of the first byte from i on that is not white space.
func (l *jsonLexer) blank(i int) int { return i + strictjson.Start(l.src[i:]) }

// skip returns where the value that begins at i ends.
func (l *jsonLexer) skip(i int) int {
	for depth := 0; i < len(l.src); i++ {
		switch l.src[i] {
		case '"':
			raw, _ := l.token(i)
			if i += len(raw) - 1; depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		if depth < 0 {
			return i // the object or array around the value ends
		}
	}
	return len(l.src)
}

// copy writes a string without the secrets in it. Most strings have no escapes, and
// were redacted with the text around them.
func (l *jsonLexer) copy(raw []byte, whole bool) {
	var half []byte // an escape that the end of src cut in two
	switch {
	case !whole:
		n := halfEscape(raw)
		half = raw[n:]
		raw = append(bytes.Clone(raw[:n]), '"')
	case bytes.IndexByte(raw, '\\') < 0:
		l.out = append(l.out, raw...)
		return
	}
	text := strictjson.Unquote(raw)
	hidden := text // redacted with the text around it, escapes included
	if !whole && l.cut {
		hidden = l.set.RedactCut(text)
	}
	if start := strictjson.Start(hidden); l.nested < maxNested && start < len(hidden) && (hidden[start] == '{' || hidden[start] == '[') {
		hidden = l.set.members(hidden, l.cut && !whole, l.nested+1)
	}
	if bytes.Equal(hidden, text) {
		l.out = append(l.out, raw...)
	} else {
		l.out = strictjson.AppendString(l.out, string(hidden))
	}
	if !whole {
		l.out = l.out[:len(l.out)-1]
		if !l.cut {
			l.out = append(l.out, half...)
		}
	}
}

// halfEscape returns the offset of the escape that the end of raw cuts in two, or the length of raw
// if there is none. raw is a string without its closing quote.
func halfEscape(raw []byte) int {
	for i := 1; i < len(raw); {
		end := i + 1
		if raw[i] == '\\' {
			if end++; i+1 < len(raw) && raw[i+1] == 'u' {
				end += len("d83d")
			}
		}
		if end > len(raw) {
			return i
		}
		i = end
	}
	return len(raw)
}
