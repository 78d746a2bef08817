package framing

import (
	"strconv"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

const (
	// headerCap bounds a header block; one short field is all a server needs.
	headerCap = 8 << 10

	// lengthCap is the largest message cap that a host can be set to. A greater length is a
	// mistake, and the framer does not wait for such a message.
	lengthCap = 1 << 30

	lengthField = "content-length:"
)

var lengthStart = abi.PackNeedles("Cc")

// Lengths frames each message by a header block like that of the Language
// Server Protocol: fields, a blank line, then as many bytes as Content-Length
// says. Names are compared without case, other fields are ignored, and a lone
// newline ends a line too. The zero value is ready.
//
// If a server miscounts or leaves out the blank line, the framer logs that and
// looks for the next Content-Length, in the middle of a line too, since a body
// has no line end of its own. The wrong message is lost, and with a length that
// is too large the messages that it covers.
type Lengths struct {
	left   int       // bytes of the current body that are still to come
	final  final     // of the message
	block  block     // the header block before it
	line   [64]byte  // the current line; the rest of a longer one does not matter
	n      int       // bytes of line
	named  bool      // the line has its colon
	lost   bool      // the framer searches for the next Content-Length
	warned bool      // the log has the reason
	window [128]byte // what of a payload is looked at
	out    [48]byte  // the header of an outgoing message
}

// block is the state of the current header block.
type block struct {
	size    int // in bytes
	fields  int
	counted bool // length is set
	length  int
}

// Send writes a header and the message, which leave together.
func (l *Lengths) Send(h sdk.Handle, message sdk.Payload) abi.Status {
	out := append(l.out[:0], "Content-Length: "...)
	out = strconv.AppendInt(out, int64(message.Len()), 10)
	if s := h.Write(append(out, "\r\n\r\n"...), abi.More); s < abi.OK {
		return s
	}
	return h.Forward(message, abi.More)
}

// Data delivers the bodies in p.
func (l *Lengths) Data(p sdk.Payload) {
	for p.Len() > 0 {
		if l.left > 0 {
			p = l.body(p)
		} else {
			p = l.header(p)
		}
	}
}

// End delivers a body that is shorter than its Content-Length. If that length
// was wrong, the body may still be whole, but only if it ends as a message
// does.
func (l *Lengths) End(c *sdk.Conn) {
	if l.left > 0 && l.final.closes() {
		c.Deliver(shared, nil, abi.End)
	}
	l.left, l.final.last = 0, 0
}

// body delivers what p has of the current body and returns the rest.
func (l *Lengths) body(p sdk.Payload) sdk.Payload {
	n := min(p.Len(), l.left)
	if l.left -= n; l.left > 0 {
		p.Deliver(shared, abi.More)
		l.final.note(p)
		return p.From(n)
	}
	l.final.last = 0
	if p.Slice(0, n).Deliver(shared, abi.End) == abi.VerdictMalformed {
		l.lose(p.Conn(), "a message is malformed, or not as long as its Content-Length says")
	} else {
		l.warned = false
	}
	return p.From(n)
}

// header reads header bytes and returns the bytes after those it understood.
func (l *Lengths) header(p sdk.Payload) sdk.Payload {
	if l.lost && l.n == 0 {
		i := p.Scan(lengthStart)
		if i < 0 {
			return p.From(p.Len())
		}
		p = p.From(i)
	}
	n := p.Take(l.window[:])
	for i, c := range l.window[:n] {
		if l.step(p.Conn(), c); l.left > 0 {
			return p.From(i + 1)
		}
	}
	return p.From(n)
}

// step takes one byte of a header block.
func (l *Lengths) step(conn *sdk.Conn, c byte) {
	if l.lost {
		l.seek(c)
		return
	}
	l.block.size++
	switch {
	case l.block.size > headerCap:
		l.lose(conn, "a header block is longer than 8 KiB")
	case c == '\n':
		l.endLine(conn)
	case c == ':' && !l.named:
		l.named = true
		l.keep(c)
	case !l.named && !isToken(c) && c != '\r':
		l.lose(conn, "expected a header field or a blank line, got "+strconv.QuoteRune(rune(c))+
			"; a server that sends one message a line needs framing = \"ndjson\"")
	default:
		l.keep(c)
	}
}

// seek waits for the name Content-Length.
func (l *Lengths) seek(c byte) {
	if lower(c) != lengthField[l.n] {
		l.n = 0
	}
	if lower(c) == lengthField[l.n] {
		l.keep(c)
	}
	if l.n == len(lengthField) {
		l.lost, l.named = false, true
	}
}

// endLine understands a line, and at a blank one turns to the body.
func (l *Lengths) endLine(conn *sdk.Conn) {
	line, named := l.line[:l.n], l.named
	l.n, l.named = 0, false
	switch {
	case len(line) == 0 || len(line) == 1 && line[0] == '\r':
		l.endBlock(conn)
	case !named:
		l.lose(conn, "a header line has no colon")
	default:
		l.block.fields++
		l.field(conn, line)
	}
}

// endBlock begins the body. It ignores blank lines between a body and the next header
// block.
func (l *Lengths) endBlock(conn *sdk.Conn) {
	b := l.block
	l.block = block{}
	if b.counted {
		l.left = b.length
	} else if b.fields > 0 {
		l.lose(conn, "a header block has no Content-Length")
	}
}

// field reads a Content-Length. A second one must have the same value.
func (l *Lengths) field(conn *sdk.Conn, line []byte) {
	value, ok := lengthValue(line)
	if !ok {
		return
	}
	n, ok := parseLength(value)
	switch {
	case !ok:
		l.lose(conn, "a Content-Length is no number up to 1 GiB")
	case l.block.counted && n != l.block.length:
		l.lose(conn, "a header block has two different Content-Lengths")
	default:
		l.block.counted, l.block.length = true, n
	}
}

// lose gives up on the current block. It logs the first reason only: until a message is found
// again, others would repeat it.
func (l *Lengths) lose(conn *sdk.Conn, reason string) {
	l.lost, l.n, l.named = true, 0, false
	l.block = block{}
	if !l.warned {
		conn.Log(abi.LevelWarn, "content-length framing: "+reason+"; looking for the next Content-Length")
	}
	l.warned = true
}

func (l *Lengths) keep(c byte) {
	if l.n < len(l.line) {
		l.line[l.n] = c
		l.n++
	}
}

// lengthValue returns the value behind the name Content-Length.
func lengthValue(line []byte) (value []byte, ok bool) {
	if len(line) < len(lengthField) {
		return nil, false
	}
	for i := range len(lengthField) {
		if lower(line[i]) != lengthField[i] {
			return nil, false
		}
	}
	return line[len(lengthField):], true
}

// parseLength reads decimal digits with white space around them.
func parseLength(b []byte) (n int, ok bool) {
	b = trim(b)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = n*10 + int(c-'0'); n > lengthCap {
			return 0, false
		}
	}
	return n, len(b) > 0
}

func trim(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// isToken reports whether c may stand in the name of a field (RFC 9110, 5.6.2).
func isToken(c byte) bool {
	switch c = lower(c); {
	case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
		return true
	case c >= '#' && c <= '\'', c >= '^' && c <= '`':
		return true
	}
	return c == '-' || c == '!' || c == '*' || c == '+' || c == '.' || c == '|' || c == '~'
}
