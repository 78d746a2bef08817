package wire

import "bytes"

// Scanner finds the members of a JSON object without decoding them. It walks one message from
// left to right, and returns slices of the message. On a malformed message it ends early.
type Scanner struct {
	data []byte
	pos  int
}

// Over returns a scanner at the start of a message.
func Over(message []byte) Scanner { return Scanner{data: message} }

// Enter steps into the object that comes next, and reports whether one does.
func (s *Scanner) Enter() bool {
	if s.peek() != '{' {
		return false
	}
	s.pos++
	return true
}

// Next steps to the value of the next member and returns the member's name as
// it is written, without the quotes. At the end of the object it steps out and
// returns false.
func (s *Scanner) Next() (name []byte, ok bool) {
	if s.peek() == ',' {
		s.pos++
	}
	if s.peek() != '"' {
		s.pos = min(s.pos+1, len(s.data))
		return nil, false
	}
	quoted := s.Value()
	if len(quoted) < 2 || s.peek() != ':' {
		s.pos = len(s.data)
		return nil, false
	}
	s.pos++
	return quoted[1 : len(quoted)-1], true
}

// Value steps over the value that comes next and returns it as it is written.
func (s *Scanner) Value() []byte {
	first := s.peek()
	start := s.pos
	switch first {
	case '"':
		s.string()
	case '{', '[':
		s.nested()
	default:
		s.scalar()
	}
	return s.data[start:s.pos]
}

// peek steps over blanks and returns the byte that comes next, 0 at the end.
func (s *Scanner) peek() byte {
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
	s.pos = len(s.data)
	return 0
}

// string steps over a string. A long one costs no more than the search for a quote, which is
// vectorised.
func (s *Scanner) string() {
	start := s.pos
	s.pos++
	for {
		n := bytes.IndexByte(s.data[s.pos:], '"')
		if n < 0 {
			s.pos = len(s.data)
			return
		}
		quote := s.pos + n
		s.pos = quote + 1
		if !escaped(s.data[start:quote]) {
			return
		}
	}
}

// escaped reports whether the byte after the text is escaped, because the text ends in an odd
// number of backslashes.
func escaped(text []byte) bool {
	n := 0
	for n < len(text) && text[len(text)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// nested steps over an object or a list.
func (s *Scanner) nested() {
	depth := 0
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case '"':
			s.string()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.pos++
		if depth == 0 {
			return
		}
	}
}

func (s *Scanner) scalar() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return
		}
		s.pos++
	}
}
