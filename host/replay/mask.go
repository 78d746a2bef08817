package replay

import (
	"bytes"

	"github.com/wharf-mcp/wharf/host/internal/redact"
	"github.com/wharf-mcp/wharf/host/internal/secret"
)

// star stands for each byte of a secret.
const star = '*'

// cover overwrites p. Line breaks and their like stay, because framing hangs on them.
func cover(p []byte) {
	for i, c := range p {
		if c >= ' ' {
			p[i] = star
		}
	}
}

// veil overwrites the secrets of a stream of bytes that comes in pieces: the texts
// that are known, and members of JSON that are called like secrets.
type veil struct {
	stream *redact.Stream
	lexer  lexer
}

func newVeil(known *redact.Set) *veil { return &veil{stream: known.Stream()} }

// over returns p without secrets, in as many bytes, and whether there were any.
func (v *veil) over(p []byte) (out []byte, masked bool) {
	if len(p) == 0 {
		return p, false
	}
	out = bytes.Clone(p)
	v.lexer.mask(out)
	for _, part := range v.stream.Hidden(p) {
		cover(out[part[0]:part[1]])
	}
	return out, !bytes.Equal(out, p)
}

// once is over for bytes that are no piece of anything.
func once(known *redact.Set, p []byte) ([]byte, bool) { return newVeil(known).over(p) }

// lexer finds the values of JSON members that are called like secrets, in whatever
// text and in pieces of any size. It knows quotes, names and brackets and nothing
// of what is allowed where. JSON in strings of JSON it reads as well: there a quote
// has one, three, seven backslashes before it.
type lexer struct {
	where   place
	slashes int    // backslashes right before this byte
	quote   int    // as many are before the quotes of the string that is read
	name    []byte // what the string says, if it is short
	depth   int    // of brackets, in a nest
	text    bool   // in a string of a nest
}

// place is where a lexer is.
type place uint8

const (
	outside place = iota
	inText
	behindText
	beforeValue // of a member that is secret
	inValue
	inNumber
	inNest
)

// longestName is what is still a name, in bytes.
const longestName = 128

// mask overwrites what is secret in p.
func (l *lexer) mask(p []byte) {
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
				p[i] = star
			}
		case inValue:
			l.inValue(p, i)
		case inNumber:
			p[i] = star
		case inNest:
			l.inNest(p, i)
		}
		if l.slashes++; c != '\\' {
			l.slashes = 0
		}
	}
}

// begin begins a string.
func (l *lexer) begin() { l.where, l.quote, l.name = inText, l.slashes, l.name[:0] }

// closes reports whether a quote that comes now ends the string: it has as many
// backslashes as the one that began it, but for those that stand for themselves,
// or fewer, where a string around it ends.
func (l *lexer) closes() bool {
	return l.slashes < l.quote || l.slashes%(2*l.quote+2) == l.quote
}

func (l *lexer) inText(c byte) {
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

func (l *lexer) behindText(c byte) {
	switch {
	case blank(c) || c == '\\' || l.slashes > 0 && breaks(c):
	case c == ':' && len(l.name) < longestName && secret.Key(string(l.name)):
		l.where = beforeValue
	case c == '"':
		l.begin()
	default:
		l.where = outside
	}
}

func (l *lexer) beforeValue(c byte) {
	switch {
	case blank(c) || c == '\\' || l.slashes > 0 && breaks(c):
	case c == '"':
		l.where, l.quote = inValue, l.slashes
	case c == '{' || c == '[':
		l.where, l.depth, l.text, l.quote = inNest, 1, false, 0
	case c == '-' || '0' <= c && c <= '9':
		l.where = inNumber
	default:
		l.where = outside // null, true, false
	}
}

func (l *lexer) inValue(p []byte, i int) {
	switch c := p[i]; {
	case c == '\n':
		l.where = outside
	case c == '"' && l.closes():
		for n := i - min(i, l.slashes, l.quote); n < i; n++ {
			p[n] = '\\' // which belong to the quote
		}
		l.where = outside
	case c >= ' ':
		p[i] = star
	}
}

// inNest overwrites all texts and numbers of an object or array.
func (l *lexer) inNest(p []byte, i int) {
	switch c := p[i]; {
	case c == '"' && !l.text:
		l.text, l.quote = true, l.slashes
	case c == '"' && l.closes():
		l.text = false
	case l.text || numeric(c):
		cover(p[i : i+1])
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
