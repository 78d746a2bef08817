package config

import (
	"errors"
	"strings"
)

// Bounds of the shape of a file in TOML. The parser keeps the whole path of every key, so
// nesting costs the square of its size and more. Eleven kilobytes of inline tables within inline
// tables take more than four gigabytes.
const (
	maxNesting = 8   // brackets within brackets
	maxDots    = 8   // in one key
	maxKey     = 256 // bytes of one key, dots and quotes and all
)

var errShape = errors.New("it nests deeper, or has longer keys, than any configuration")

// checkShape refuses a file that would cost too much to parse. It knows only the grammar that it
// needs: the parser reports all other mistakes, and stops at them.
func checkShape(text string) error {
	s := shape{text: text}
	for s.i < len(text) {
		if !s.step() {
			return errShape
		}
	}
	return nil
}

// shape is the state of a scan of a file.
type shape struct {
	text  string
	i     int
	depth int  // of brackets
	dots  int  // since start
	start int  // where a key that is being read begins at the earliest
	head  bool // the line is the name of a table
}

// step takes in a character, a string or a comment. It reports whether all is within bounds.
func (s *shape) step() (ok bool) {
	c := s.text[s.i]
	ok = true
	switch c {
	case '"', '\'':
		s.i += stringLength(s.text[s.i:], c)
		return true
	case '#':
		if end := strings.IndexByte(s.text[s.i:], '\n'); end >= 0 {
			s.i += end
		} else {
			s.i = len(s.text)
		}
		return true
	case '[', '{':
		s.head = s.head || s.depth == 0 && strings.TrimLeft(s.text[s.start:s.i], " \t\r") == "" && (s.start == 0 || s.text[s.start-1] == '\n')
		s.depth++
		ok = s.depth <= maxNesting
	case ']', '}':
		s.depth--
		ok = !s.head || s.keyEnds()
	case '\n':
		s.head = false
	case '=':
		ok = s.keyEnds()
	case '.':
		s.dots++
		ok = s.dots <= maxDots
	}
	s.i++
	if strings.IndexByte("[]{}=,\n", c) >= 0 {
		s.start, s.dots = s.i, 0
	}
	return ok
}

// keyEnds reports whether the key that ends here is short enough.
func (s *shape) keyEnds() bool { return s.i-s.start <= maxKey }

// stringLength returns the length in bytes of the string at the beginning of text. A string in
// three quotes may hold line breaks, and end with up to five quotes.
func stringLength(text string, quote byte) int {
	long := strings.Repeat(string(quote), 3)
	if !strings.HasPrefix(text, long) {
		return closing(text, 1, string(quote), quote == '"')
	}
	end := closing(text, 3, long, quote == '"')
	for extra := 0; extra < 2 && end < len(text) && text[end] == quote; extra++ {
		end++
	}
	return end
}

// closing returns the offset behind the end of a string, or behind the text if the string does not
// end. A string whose end is one quote must end in its line: for it, closing may return the offset
// of the line break.
func closing(text string, i int, end string, escapes bool) int {
	for i < len(text) {
		switch {
		case strings.HasPrefix(text[i:], end):
			return i + len(end)
		case escapes && text[i] == '\\':
			i++
		case text[i] == '\n' && len(end) == 1:
			return i
		}
		i++
	}
	return len(text)
}
