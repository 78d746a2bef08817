package redact

import (
	"bytes"
	"slices"

	"github.com/wharf-mcp/wharf/host/internal/secret"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// Star replaces each byte of a secret that is masked.
const Star = '*'

// Overwrite masks p in place. Control characters stay, because framing depends on line
// breaks.
func Overwrite(p []byte) {
	for i, c := range p {
		if c >= ' ' {
			p[i] = Star
		}
	}
}

// Masker overwrites the secrets of a text that comes in pieces: the texts of a set, and the values
// of JSON members whose names sound secret. It belongs to one goroutine.
type Masker struct {
	stream *Stream
	lexer  maskLexer
}

// Masker returns a Masker at the beginning of a text.
func (s *Set) Masker() *Masker { return &Masker{stream: s.Stream()} }

// Mask returns the next piece, in as many bytes, without its secrets. It reports whether there were
// any.
func (m *Masker) Mask(p []byte) (out []byte, masked bool) {
	if len(p) == 0 {
		return p, false
	}
	out = bytes.Clone(p)
	m.lexer.mask(out)
	for _, part := range m.stream.Spans(p) {
		Overwrite(out[part[0]:part[1]])
	}
	return out, !bytes.Equal(out, p)
}

// Mask is [Masker.Mask] for a text that is a single piece.
func (s *Set) Mask(p []byte) (out []byte, masked bool) { return s.Masker().Mask(p) }

// maskLexer finds the values of JSON members whose names sound secret, in any text and in
// pieces of any size. It knows quotes, names and brackets but not the grammar. It also
// reads JSON in strings of JSON, where a quote has one, three or seven backslashes
// before it.
type maskLexer struct {
	where   maskState
	slashes int    // backslashes right before this byte
	quote   int    // how many of them the quotes of the current string have
	name    []byte // the beginning of the current string, which may be a name
	depth   int    // of brackets, in an object or array
	text    bool   // in a string of that object or array
}

type maskState uint8

const (
	outside maskState = iota
	inText
	behindText
	beforeValue // of a secret member, like the following
	inValue
	inNumber
	inNested // in an object or array
)

// longestName is how long a name may be, in bytes.
const longestName = 128

// mask overwrites what is secret in p.
func (l *maskLexer) mask(p []byte) {
	for i, c := range p {
		if l.where == inNumber && !numeric(c) {
			l.where = outside
		}
		switch l.where {
		case outside:
			if c == '"' {
				l.begin()
			}
		case inText:
			l.inText(c)
		case behindText:
			l.behindText(c)
		case beforeValue:
			if l.beforeValue(c); l.where == inNumber {
				p[i] = Star
			}
		case inValue:
			l.inValue(p, i)
		case inNumber:
			p[i] = Star
		case inNested:
			l.inNested(p, i)
		}
		if l.slashes++; c != '\\' {
			l.slashes = 0
		}
	}
}

// begin begins a string.
func (l *maskLexer) begin() { l.where, l.quote, l.name = inText, l.slashes, l.name[:0] }

// closes reports whether a quote at this place ends the string: it has as many
// backslashes as the opening quote, apart from escaped backslashes, or fewer, where an
// enclosing string ends.
func (l *maskLexer) closes() bool {
	return l.slashes < l.quote || l.slashes%(2*l.quote+2) == l.quote
}

func (l *maskLexer) inText(c byte) {
	switch {
	case c == '\n':
		l.where = outside
	case c != '"':
		if len(l.name) < longestName {
			l.name = append(l.name, c)
		}
	case !l.closes():
		l.begin()
	case l.slashes < l.quote:
		l.where = outside
	default:
		l.where = behindText
	}
}

func (l *maskLexer) behindText(c byte) {
	switch {
	case blank(c) || c == '\\' || l.slashes > 0 && breaks(c):
	case c == ':' && len(l.name) < longestName && l.named():
		l.where = beforeValue
	case c == '"':
		l.begin()
	default:
		l.where = outside
	}
}

// named reports whether the name that was read sounds secret, as it is written or without its
// escapes. A name in a nested string has several layers of escapes.
func (l *maskLexer) named() bool {
	name := bytes.TrimRight(l.name, `\`) // those before the closing quote
	for range maxNested {
		if secret.Key(string(name)) {
			return true
		}
		if bytes.IndexByte(name, '\\') < 0 {
			return false
		}
		name = strictjson.Unquote(slices.Concat([]byte{'"'}, name, []byte{'"'}))
	}
	return secret.Key(string(name))
}

func (l *maskLexer) beforeValue(c byte) {
	switch {
	case blank(c) || c == '\\' || l.slashes > 0 && breaks(c):
	case c == '"':
		l.where, l.quote = inValue, l.slashes
	case c == '{' || c == '[':
		l.where, l.depth, l.text, l.quote = inNested, 1, false, 0
	case c == '-' || '0' <= c && c <= '9':
		l.where = inNumber
	default:
		l.where = outside // null, true, false
	}
}

func (l *maskLexer) inValue(p []byte, i int) {
	switch c := p[i]; {
	case c == '\n':
		l.where = outside
	case c == '"' && l.closes():
		for n := i - min(i, l.slashes, l.quote); n < i; n++ {
			p[n] = '\\' // the backslashes belong to the quote
		}
		l.where = outside
	case c >= ' ':
		p[i] = Star
	}
}

// inNested overwrites all texts and numbers of an object or array.
func (l *maskLexer) inNested(p []byte, i int) {
	switch c := p[i]; {
	case c == '"' && !l.text:
		l.text, l.quote = true, l.slashes
	case c == '"' && l.closes():
		l.text = false
	case l.text || numeric(c):
		Overwrite(p[i : i+1])
	case c == '{' || c == '[':
		l.depth++
	case c == '}' || c == ']':
		if l.depth--; l.depth == 0 {
			l.where = outside
		}
	}
}

func blank(c byte) bool   { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func breaks(c byte) bool  { return c == 'n' || c == 't' || c == 'r' }
func numeric(c byte) bool { return '0' <= c && c <= '9' || bytes.IndexByte([]byte("+-.eE"), c) >= 0 }
