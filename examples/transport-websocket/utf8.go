package main

import "unicode/utf8"

// utf8Check checks a text that comes in parts, which may be cut within a
// character. The zero value is ready.
type utf8Check struct {
	rest [utf8.UTFMax]byte // of a character that was cut
	n    int
}

// add reports whether the text can still be UTF-8 with b as its next part.
func (u *utf8Check) add(b []byte) bool {
	for u.n > 0 && len(b) > 0 {
		u.rest[u.n] = b[0]
		u.n++
		b = b[1:]
		if utf8.FullRune(u.rest[:u.n]) {
			if c, size := utf8.DecodeRune(u.rest[:u.n]); c == utf8.RuneError && size < u.n {
				return false
			}
			u.n = 0
		}
	}
	cut := len(b)
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if start := len(b) - back; utf8.RuneStart(b[start]) {
			if !utf8.FullRune(b[start:]) {
				cut = start
			}
			break
		}
	}
	u.n += copy(u.rest[u.n:], b[cut:])
	return utf8.Valid(b[:cut])
}

// end reports whether the text is complete, and makes u ready for another one.
func (u *utf8Check) end() bool {
	complete := u.n == 0
	u.n = 0
	return complete
}
