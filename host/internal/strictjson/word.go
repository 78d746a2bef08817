package strictjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// A word is eight bytes of text in one register. Each predicate below sets the top bit of the bytes
// that it looks for. A borrow can also set the bit of a byte above such a byte, so only two answers
// are exact: whether there is such a byte, and which is the first. A search needs no more.
const (
	ones  = 0x0101010101010101
	tops  = 0x80 * ones
	space = 0x20 * ones
)

// special marks the bytes that end a plain run inside a string: a quote, a
// backslash or a control character. Bytes above 0x7f are plain.
func special(x uint64) uint64 {
	quote := x ^ '"'*ones
	slash := x ^ '\\'*ones
	return ((x-space)&^x | (quote-ones)&^quote | (slash-ones)&^slash) & tops
}

// escaped marks the backslashes.
func escaped(x uint64) uint64 {
	slash := x ^ '\\'*ones
	return (slash - ones) &^ slash & tops
}

// first returns the number of the lowest byte that is marked.
func first(marks uint64) int { return bits.TrailingZeros64(marks) >> 3 }

func load(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// isSpecial is special for a single byte.
func isSpecial(c byte) bool { return c < ' ' || c == '"' || c == '\\' }

// A string that stays plain for nearWords words is searched in windows, which double from
// firstWindow to lastWindow. They are large enough for the vectorised search to pay off, and small
// enough to stay in the first-level cache between two searches. They are never so large that a far
// quote is looked for again and again from every backslash before it.
const (
	nearWords   = 8
	firstWindow = 512
	lastWindow  = 8 << 10
)

// plain returns the offset of the first special byte at or after i, or the end
// of the text. It notes in wide whether it saw a byte above 0x7f.
func (s *scanner) plain(i int) int {
	b, wide := s.src, uint64(0)
	for n := 0; i+8 <= len(b); n++ {
		if n == nearWords {
			s.wide |= wide
			return s.plainFar(i)
		}
		x := load(b[i:])
		wide |= x
		if marks := special(x); marks != 0 {
			s.wide |= wide
			return i + first(marks)
		}
		i += 8
	}
	for i < len(b) && !isSpecial(b[i]) {
		wide |= uint64(b[i])
		i++
	}
	s.wide |= wide
	return i
}

func (s *scanner) plainFar(i int) int {
	for size := firstWindow; i < len(s.src); size = min(2*size, lastWindow) {
		window := s.src[i:min(i+size, len(s.src))]
		run := window
		if n := bytes.IndexByte(run, '"'); n >= 0 {
			run = run[:n]
		}
		if n := bytes.IndexByte(run, '\\'); n >= 0 {
			run = run[:n]
		}
		if n := s.control(run); n >= 0 {
			return i + n
		}
		i += len(run)
		if len(run) < len(window) {
			break
		}
	}
	return i
}

// control returns the offset of the first control character in run, or -1. The long loop tests only
// whether a stretch has bytes other than plain ASCII, and examines a stretch that has some.
func (s *scanner) control(run []byte) int {
	i := 0
	for ; i+32 <= len(run); i += 32 {
		w := run[i : i+32 : i+32]
		a, b, c, d := load(w), load(w[8:]), load(w[16:]), load(w[24:])
		if (a|(a-space)|b|(b-space)|c|(c-space)|d|(d-space))&tops == 0 {
			continue
		}
		s.wide = tops
		if n := controlNear(w); n >= 0 {
			return i + n
		}
	}
	for _, c := range run[i:] {
		s.wide |= uint64(c)
	}
	if n := controlNear(run[i:]); n >= 0 {
		return i + n
	}
	return -1
}

func controlNear(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x := load(b[i:])
		if marks := (x - space) &^ x & tops; marks != 0 {
			return i + first(marks)
		}
	}
	for ; i < len(b); i++ {
		if b[i] < ' ' {
			return i
		}
	}
	return -1
}
