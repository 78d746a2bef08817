package trace

import (
	"bytes"

	"github.com/wharf-mcp/wharf/host/internal/jsontext"
	"github.com/wharf-mcp/wharf/host/internal/redact"
	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// veil hides secrets: the texts that it is told of, wherever they occur, and the
// members of messages that are called like secrets. It may be used from any
// goroutine. What is added hides what is covered from then on.
type veil struct{ redact.Set }

// cover returns text without the secrets in it; where the text is cut, also without
// what may be the beginning of one at its end.
func (v *veil) cover(text []byte, cut bool) []byte {
	if cut {
		return v.CoverCut(text)
	}
	return v.Cover(text)
}

// message returns a message without its secrets. It is for any bytes: what is no
// JSON, or was cut, is read as far as it reads like JSON. Whatever hides nothing
// is left as it is written.
func (v *veil) message(msg []byte, cut bool) []byte {
	return v.read(v.cover(msg, cut), cut, 0)
}

// maxNested is how deep JSON is looked for in strings of JSON: tools like to
// answer with it, as text.
const maxNested = 3

func (v *veil) read(text []byte, cut bool, nested int) []byte {
	l := lexer{veil: v, src: text, out: make([]byte, 0, len(text)), cut: cut, nested: nested}
	for l.pos < len(l.src) {
		l.step()
	}
	return l.out
}

// lexer copies JSON from src to out, without secrets. It knows strings, names and
// brackets, and nothing of what is allowed where: it is for messages that are
// not JSON after all, too.
type lexer struct {
	veil     *veil
	src, out []byte
	pos      int
	cut      bool // the text goes on behind the end of src
	nested   int  // in how many strings this text lies

	// A JSON schema has the names of what it describes, and a schema is no
	// secret: of each open object, whether it is the properties of a schema.
	schemas []bool
	schema  bool // the object that begins next is
}

func (l *lexer) step() {
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

// text copies a string, and where it is a name, decides about its value.
func (l *lexer) text() {
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
	l.member(string(jsontext.Unquote(raw)))
}

// member hides the value that begins here if its name says so.
func (l *lexer) member(name string) {
	inSchema := len(l.schemas) > 0 && l.schemas[len(l.schemas)-1]
	l.schema = name == "properties" && !inSchema
	if l.pos >= len(l.src) || !secret.Key(name) {
		return
	}
	if l.src[l.pos] == '{' && inSchema {
		return // it tells what the secret looks like
	}
	end := l.skip(l.pos)
	if nothing(l.src[l.pos:end]) {
		return
	}
	l.pos = end
	l.out = append(append(append(l.out, '"'), secret.Mark...), '"')
}

// nothing reports whether a value is one that hides no secret.
func nothing(value []byte) bool {
	switch string(bytes.TrimSpace(value)) {
	case "", "null", "true", "false":
		return true
	}
	return false
}

// token returns the string that begins at i, and whether it ends.
func (l *lexer) token(i int) (raw []byte, whole bool) {
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

func (l *lexer) blank(i int) int {
	for i < len(l.src) && (l.src[i] == ' ' || l.src[i] == '\n' || l.src[i] == '\t' || l.src[i] == '\r') {
		i++
	}
	return i
}

// skip returns where the value that begins at i ends.
func (l *lexer) skip(i int) int {
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
			return i // the end of what the value is in
		}
	}
	return len(l.src)
}

// copy writes a string without the secrets in it. Most have no escapes, and are
// covered already, with the text that they are in.
func (l *lexer) copy(raw []byte, whole bool) {
	switch {
	case !whole:
		raw = mend(raw)
	case bytes.IndexByte(raw, '\\') < 0:
		l.out = append(l.out, raw...)
		return
	}
	text := jsontext.Unquote(raw)
	hidden := text // which was covered with what it is in, escapes and all
	if !whole && l.cut {
		hidden = l.veil.CoverCut(text)
	}
	if start := jsontext.Start(hidden); l.nested < maxNested && start < len(hidden) && (hidden[start] == '{' || hidden[start] == '[') {
		hidden = l.veil.read(hidden, l.cut && !whole, l.nested+1)
	}
	if bytes.Equal(hidden, text) {
		l.out = append(l.out, raw...)
	} else {
		l.out = jsontext.AppendString(l.out, string(hidden))
	}
	if !whole {
		l.out = l.out[:len(l.out)-1]
	}
}

// mend closes a string that does not end, without the escape that it may end in.
func mend(raw []byte) []byte {
	const escape = len(`\ud83d\ude00`)
	if i := bytes.LastIndexByte(raw, '\\'); i >= max(1, len(raw)-escape) {
		for raw = raw[:i]; raw[len(raw)-1] == '\\'; {
			raw = raw[:len(raw)-1]
		}
	}
	return append(bytes.Clone(raw), '"')
}
