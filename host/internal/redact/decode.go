package redact

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// unit is a byte of decoded text, and the range of the input that it was made from.
type unit struct {
	c        byte
	from, to int
	by       int // 1 + the layer that made it from a percent form; 0 for none
}

// decoder removes the escapes from a text, and maps what encodings write in different ways
// to one byte, so that a secret has one form however it was written:
//
//	%2f, %252F, \/, \\\/, \u002f     /
//	\x2f, &#47;, &#x2F;             /
//	&amp; &lt; &gt; &quot; &apos;   the character
//	\n, +, %20, a line end, -        a space
//	a character outside the BMP      as two surrogates, of three bytes each
//	_                                /
//	any other \                      nothing
//
// The fourth and sixth line map the two alphabets of base64 to one. The form is only for
// comparing. The decoder keeps nothing of the text except an escape that has begun.
type decoder struct {
	layers [outerEntities + 1]layer
	held   int    // in all layers
	wide   []unit // of a character with four bytes
	emit   func(unit)
}

// The layers of a decoder alternate between percent forms and JSON escapes, four times: a
// JSON text in a query in a JSON text needs two, and a secret with escapes of its own one
// more. The last of them removes all remaining backslashes, so that their number makes no
// difference. Entities of HTML are undone before all of these and behind them.
const (
	innerEntities = 0
	lastEscapes   = 9
	outerEntities = 10
)

// layer undoes one encoding. held is an escape that has begun.
type layer struct {
	held [len("&#x10ffff")]unit
	n    int
}

// write decodes the next byte of the text.
func (d *decoder) write(u unit) { d.pass(0, u) }

// idle reports whether no escape has begun.
func (d *decoder) idle() bool { return d.held == 0 && len(d.wide) == 0 }

// joined maps a byte to what finish makes of it outside of escapes and long characters. It maps a
// byte to 0 if that must go through finish.
var joined = func() (to [256]byte) {
	for c := range to {
		to[c] = same(byte(c))
	}
	to['\\'], to['%'], to['&'] = 0, 0, 0
	clear(to[wideByte:])
	return to
}()

// wideByte is the least byte that begins a character of four bytes.
const wideByte = 0xf0

// same maps bytes that encodings use for the same thing to one byte.
func same(c byte) byte {
	switch {
	case c == '_':
		return '/'
	case c == '+', c == '-', c <= ' ':
		return ' '
	}
	return c
}

// pass gives a unit to the layer number depth, or to finish if no layer is left.
func (d *decoder) pass(depth int, u unit) {
	for ; depth <= outerEntities; depth++ {
		if l := &d.layers[depth]; l.n > 0 || u.c == '\\' || u.c == '%' || u.c == '&' {
			switch {
			case depth == innerEntities, depth == outerEntities:
				d.entity(l, depth, u)
			case depth%2 == 1 && depth < lastEscapes:
				d.percent(l, depth, u)
			default:
				d.escape(l, depth, u)
			}
			return
		}
	}
	d.finish(u)
}

// entities holds the entities of XML, which every encoder of HTML writes (XML 1.0, section 4.6).
var entities = map[string]rune{"&amp": '&', "&lt": '<', "&gt": '>', "&quot": '"', "&apos": '\''}

// entity undoes a character reference of HTML (HTML, section 13.5): a name, or a number in
// decimal or hexadecimal digits.
func (d *decoder) entity(l *layer, depth int, u unit) {
	var text [len(l.held) + 1]byte
	for i, held := range l.held[:l.n] {
		text[i] = held.c
	}
	text[l.n] = u.c
	written := string(text[:l.n])
	switch {
	case l.n == 0 && u.c != '&':
		d.pass(depth+1, u)
	case u.c == ';' && l.n > 0:
		code, known := entities[written]
		if !known {
			digits, isHex := strings.CutPrefix(strings.ToLower(strings.TrimPrefix(written, "&#")), "x")
			base := 10
			if isHex {
				base = 16
			}
			n, err := strconv.ParseUint(digits, base, 21)
			code, known = rune(n), err == nil
		}
		if !known {
			d.release(l, depth, 0)
			d.pass(depth+1, u)
			return
		}
		from := l.held[0].from
		d.drop(l)
		for _, c := range appendRune(nil, code) {
			d.pass(depth+1, unit{c, from, u.to, 0})
		}
	case l.n < len(l.held) && entityBegins(string(text[:l.n+1])):
		d.hold(l, u)
	default:
		d.release(l, depth, 0)
		d.pass(depth, u)
	}
}

// entityBegins reports whether a text may go on as an entity.
func entityBegins(text string) bool {
	if digits, found := strings.CutPrefix(text, "&#"); found {
		digits, hexadecimal := strings.CutPrefix(strings.ToLower(digits), "x")
		return !strings.ContainsFunc(digits, func(r rune) bool { return r > 'f' || !isHex(byte(r)) || !hexadecimal && r > '9' })
	}
	for name := range entities {
		if strings.HasPrefix(name, text) {
			return true
		}
	}
	return text == "&"
}

// percent decodes a unit of a percent sign and two hexadecimal digits (RFC 3986, section 2.1).
func (d *decoder) percent(l *layer, depth int, u unit) {
	switch {
	case l.n == 0 && u.c != '%':
		d.pass(depth+1, u)
	case l.n == 0, l.n == 1 && isHex(u.c):
		d.hold(l, u)
	case isHex(u.c):
		made := unit{byte(hexDigit(l.held[1].c)<<4 | hexDigit(u.c)), l.held[0].from, u.to, depth + 1}
		d.drop(l)
		d.pass(depth+1, made)
	default:
		d.release(l, depth, 0)
		d.pass(depth, u)
	}
}

// escape decodes an escape of a JSON string (RFC 8259, section 7), and \x41 of other
// languages. A byte that the layer before made from a percent form is left to the next layer:
// a \ that was encoded must not be paired with one that was not.
func (d *decoder) escape(l *layer, depth int, u unit) {
	switch {
	case u.by == depth:
		d.release(l, depth, 0)
		d.pass(depth+1, u)
	case l.n == 0 && u.c != '\\':
		d.pass(depth+1, u)
	case l.n == 0, l.n == 1 && (u.c == 'u' || u.c == 'x'), l.n > 1 && l.n < 5 && isHex(u.c) && (l.n == 2 || l.held[1].c == 'u'):
		d.hold(l, u)
	case l.n == 1:
		d.short(l, depth, u)
	case isHex(u.c):
		d.long(l, depth, u)
	case depth == lastEscapes:
		l.held[1].from = l.held[0].from
		d.release(l, depth, 1)
		d.pass(depth, u)
	default:
		d.release(l, depth, 0)
		d.pass(depth, u)
	}
}

// short decodes an escape of two characters. u is the second.
func (d *decoder) short(l *layer, depth int, u unit) {
	from := l.held[0].from
	switch u.c {
	case 'n', 'r', 't', 'b', 'f':
		u.c = ' '
	case '\\':
		if depth == lastEscapes {
			return // one is as good as many
		}
	case '"', '/':
	default:
		if depth < lastEscapes {
			d.release(l, depth, 0)
			d.pass(depth, u)
			return
		}
	}
	d.drop(l)
	d.pass(depth+1, unit{u.c, from, u.to, 0})
}

// long decodes an escape of four or six characters. u is the last.
func (d *decoder) long(l *layer, depth int, u unit) {
	var code rune
	for _, digit := range l.held[2:l.n] {
		code = code<<4 | rune(hexDigit(digit.c))
	}
	code = code<<4 | rune(hexDigit(u.c))
	from, isByte := l.held[0].from, l.held[1].c == 'x'
	d.drop(l)
	var text [3]byte
	out := append(text[:0], byte(code))
	if !isByte {
		out = appendUnit(text[:0], code)
	}
	for _, c := range out {
		d.pass(depth+1, unit{c, from, u.to, 0})
	}
}

func (d *decoder) hold(l *layer, u unit) {
	l.held[l.n] = u
	l.n++
	d.held++
}

func (d *decoder) drop(l *layer) {
	d.held -= l.n
	l.n = 0
}

// release passes on the held units from number first on, because they are no escape. It drops the
// units before them.
func (d *decoder) release(l *layer, depth, first int) {
	held, n := l.held, l.n
	d.drop(l)
	for _, u := range held[first:n] {
		d.pass(depth+1, u)
	}
}

// finish emits a unit behind the last layer.
func (d *decoder) finish(u unit) {
	if len(d.wide) > 0 || u.c >= wideByte {
		d.widen(u)
		return
	}
	u.c = same(u.c)
	d.emit(u)
}

// widen collects a character of four bytes.
func (d *decoder) widen(u unit) {
	if len(d.wide) > 0 && u.c>>6 != 2 { // not a continuation byte
		d.flush()
		d.finish(u)
		return
	}
	if d.wide = append(d.wide, u); len(d.wide) < 4 {
		return
	}
	var text [4]byte
	for i, w := range d.wide {
		text[i] = w.c
	}
	r, size := utf8.DecodeRune(text[:])
	if size < 4 {
		d.flush()
		return
	}
	from := d.wide[0].from
	d.wide = d.wide[:0]
	for _, c := range appendRune(nil, r) {
		d.emit(unit{c, from, u.to, 0})
	}
}

// appendRune appends a character, as two surrogates where it lies outside the BMP.
func appendRune(dst []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		return appendUnit(appendUnit(dst, 0xd800|r>>10), 0xdc00|r&0x3ff)
	}
	return appendUnit(dst, r)
}

func (d *decoder) flush() {
	for _, w := range d.wide {
		d.emit(w)
	}
	d.wide = d.wide[:0]
}

// appendUnit appends a unit of UTF-16, also a surrogate, in the way of UTF-8.
func appendUnit(dst []byte, code rune) []byte {
	switch {
	case code < 0x80:
		return append(dst, byte(code))
	case code < 0x800:
		return append(dst, 0xc0|byte(code>>6), 0x80|byte(code&0x3f))
	}
	return append(dst, 0xe0|byte(code>>12), 0x80|byte(code>>6&0x3f), 0x80|byte(code&0x3f))
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

func hexDigit(c byte) int {
	if c <= '9' {
		return int(c - '0')
	}
	return int(c|0x20-'a') + 10
}

// decoded returns the form in which a secret is looked for. complete is that form without an escape
// that has only begun at its end: where the secret occurs, the text behind it may become a part of
// that escape.
func decoded(text []byte) (whole, complete []byte) {
	d := decoder{emit: func(u unit) { whole = append(whole, u.c) }}
	for i, c := range text {
		d.write(unit{c, i, i + 1, 0})
	}
	complete = slices.Clone(whole)
	for depth := range d.layers {
		d.release(&d.layers[depth], depth, 0)
	}
	return whole, complete
}
