package strictjson

import "unicode/utf8"

// DefaultDepth is the nesting limit if a caller gives none.
const DefaultDepth = 128

// Valid returns nil if text is exactly one JSON value, with optional white space around it, nested
// no deeper than maxDepth ([DefaultDepth] if that is not positive). Otherwise it returns an
// [*Error].
func Valid(text []byte, maxDepth int) error {
	s := scanner{src: text, limit: depthLimit(maxDepth)}
	end := s.value(s.blank(0), 0)
	if end >= 0 {
		end = s.end(end)
	}
	if end < 0 {
		return s.err()
	}
	return nil
}

// Start returns the offset of the first byte of text that is not white space, or
// len(text).
func Start(text []byte) int {
	s := scanner{src: text}
	return s.blank(0)
}

// scanner checks text by recursive descent. Its methods take the offset at which they start. They
// return the offset after what they read, or -1 once the text was refused; fail stores the place
// and the reason. Bytes above 0x7f can occur only in strings. If there are any, one UTF-8 check of
// the whole text at the end is cheaper than many small ones.
type scanner struct {
	src   []byte
	limit int
	wide  uint64 // has a top bit once a string held a byte above 0x7f
	lone  int    // the offset behind the first byte of the newest lone surrogate; 0 for none
	at    int
	why   Reason
}

// depthLimit returns the depth that is meant by a parameter.
func depthLimit(maxDepth int) int {
	if maxDepth <= 0 {
		return DefaultDepth
	}
	return maxDepth
}

func (s *scanner) fail(at int, why Reason) int {
	s.at, s.why = at, why
	return -1
}

// unexpected refuses the text because of the byte at i, or because the text ends there.
func (s *scanner) unexpected(i int) int {
	if i >= len(s.src) {
		return s.fail(len(s.src), Truncated)
	}
	return s.fail(i, Syntax)
}

func (s *scanner) err() error { return &Error{Reason: s.why, Offset: s.at} }

// end checks the rest after the value, which may only be white space, and that all of the text is
// UTF-8.
func (s *scanner) end(i int) int {
	if i = s.blank(i); i < len(s.src) {
		return s.fail(i, Trailing)
	}
	if s.wide&tops != 0 && !utf8.Valid(s.src) {
		return s.fail(invalidUTF8(s.src), UTF8)
	}
	return i
}

func invalidUTF8(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(b)
}

// blank returns the offset of the first byte at or after i that is not white space.
func (s *scanner) blank(i int) int {
	for ; i < len(s.src); i++ {
		if c := s.src[i]; c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			break
		}
	}
	return i
}

func (s *scanner) value(i, depth int) int {
	if i >= len(s.src) {
		return s.fail(i, Truncated)
	}
	switch c := s.src[i]; c {
	case '"':
		return s.text(i + 1)
	case '{':
		return s.list(i+1, depth+1, '}')
	case '[':
		return s.list(i+1, depth+1, ']')
	case 't':
		return s.word(i, "true")
	case 'f':
		return s.word(i, "false")
	case 'n':
		return s.word(i, "null")
	}
	return s.number(i)
}

// list reads the rest of an object or array behind its opening bracket.
func (s *scanner) list(i, depth int, closing byte) int {
	if depth > s.limit {
		return s.fail(i-1, Depth)
	}
	if i = s.blank(i); i < len(s.src) && s.src[i] == closing {
		return i + 1
	}
	for {
		if closing == '}' {
			if i = s.name(i); i < 0 {
				return i
			}
			if i = s.colon(i); i < 0 {
				return i
			}
		}
		if i = s.value(i, depth); i < 0 {
			return i
		}
		next, more := s.more(i, closing)
		if !more {
			return next
		}
		i = next
	}
}

// name reads the name of a member. Two names that differ in a lone surrogate are the same to some
// peers, so a name has none.
func (s *scanner) name(i int) int {
	if i >= len(s.src) || s.src[i] != '"' {
		return s.unexpected(i)
	}
	end := s.text(i + 1)
	if end >= 0 && s.lone > i {
		return s.fail(s.lone-1, Surrogate)
	}
	return end
}

func (s *scanner) colon(i int) int {
	if i = s.blank(i); i >= len(s.src) || s.src[i] != ':' {
		return s.unexpected(i)
	}
	return s.blank(i + 1)
}

// more reads what follows an element: a comma, or the closing bracket. After a comma, next is the
// offset of the next element and more is true. After the bracket, next is the offset behind it.
func (s *scanner) more(i int, closing byte) (next int, more bool) {
	if i = s.blank(i); i >= len(s.src) {
		return s.unexpected(i), false
	}
	switch s.src[i] {
	case ',':
		return s.blank(i + 1), true
	case closing:
		return i + 1, false
	}
	return s.unexpected(i), false
}

func (s *scanner) word(i int, want string) int {
	for n := range len(want) {
		if i+n >= len(s.src) || s.src[i+n] != want[n] {
			return s.unexpected(i + n)
		}
	}
	return i + len(want)
}

// number reads -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?
func (s *scanner) number(i int) int {
	if s.src[i] == '-' {
		i++
	}
	if i < len(s.src) && s.src[i] == '0' {
		i++
	} else if i = s.digits(i); i < 0 {
		return i
	}
	if i < len(s.src) && s.src[i] == '.' {
		if i = s.digits(i + 1); i < 0 {
			return i
		}
	}
	if i < len(s.src) && s.src[i]|0x20 == 'e' {
		if i++; i < len(s.src) && (s.src[i] == '+' || s.src[i] == '-') {
			i++
		}
		return s.digits(i)
	}
	return i
}

// digits reads at least one digit.
func (s *scanner) digits(i int) int {
	start := i
	for i < len(s.src) && s.src[i]-'0' <= 9 {
		i++
	}
	if i == start {
		return s.unexpected(i)
	}
	return i
}

// text reads the rest of a string whose opening quote is behind it.
func (s *scanner) text(i int) int {
	for {
		i = s.plain(i)
		if i >= len(s.src) {
			return s.fail(i, Truncated)
		}
		switch s.src[i] {
		case '"':
			return i + 1
		case '\\':
			if i = s.escape(i); i < 0 {
				return i
			}
		default:
			return s.fail(i, Control)
		}
	}
}

// escape reads the backslash sequence at i.
func (s *scanner) escape(i int) int {
	if i+1 >= len(s.src) {
		return s.fail(len(s.src), Truncated)
	}
	switch s.src[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		return s.unicode(i)
	}
	return s.fail(i, Escape)
}

// unicode reads \uXXXX, and its other half if it is a surrogate.
func (s *scanner) unicode(i int) int {
	switch unit := hexUnit(s.src[i:]); {
	case unit < 0 && i+6 > len(s.src):
		return s.fail(len(s.src), Truncated)
	case unit < 0:
		return s.fail(i, Escape)
	case !isSurrogate(unit):
		return i + 6
	case isLow(unit) || !isLow(hexUnit(s.src[i+6:])):
		s.lone = i + 1
		return i + 6
	}
	return i + 12
}

func isSurrogate(unit int) bool { return unit>>11 == 0xd800>>11 }
func isLow(unit int) bool       { return unit>>10 == 0xdc00>>10 }

// hexUnit returns the UTF-16 unit that \uXXXX at the start of b stands for, or -1 if there is no
// such sequence.
func hexUnit(b []byte) int {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	unit := 0
	for _, c := range b[2:6] {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20-'a' < 6:
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		unit = unit<<4 | int(c)
	}
	return unit
}
