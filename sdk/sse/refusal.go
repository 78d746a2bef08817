package sse

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/sdk"
)

// Refusal describes an HTTP response that refuses a request, for people: its status and the
// beginning of its body. The zero value is ready.
type Refusal struct {
	Status int
	body   [200]byte
	n      int
}

// Reset makes r ready for another response.
func (r *Refusal) Reset(status int) { r.Status, r.n = status, 0 }

// Add keeps the needed part of the next bytes of the body. It reports whether further bytes
// would make no difference.
func (r *Refusal) Add(p sdk.Payload) (full bool) {
	r.n += p.Take(r.body[r.n:])
	return r.n == len(r.body)
}

// String returns one line: the status and, of the body, what can be printed.
func (r *Refusal) String() string {
	var b strings.Builder
	b.WriteString("HTTP " + strconv.Itoa(r.Status))
	gap := ": "
	for s := r.body[:r.n]; len(s) > 0; {
		c, size := utf8.DecodeRune(s)
		s = s[size:]
		switch {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t':
			if gap == "" {
				gap = " "
			}
		case !hidden(c):
			b.WriteString(gap)
			b.WriteRune(c)
			gap = ""
		}
	}
	if r.n == len(r.body) {
		b.WriteString("…")
	}
	return b.String()
}

// obscure are the ranges of characters that show nothing, or move what stands beside them:
// controls, spaces of all kinds, formats, and those of private use. A range also covers the
// characters in between that no standard has assigned. The table of package strconv takes 4 KB,
// and is of one version of Unicode.
var obscure = [...][2]rune{
	{0x00, 0x20}, {0x7F, 0xA0}, {0xAD, 0xAD}, {0x600, 0x605}, {0x61C, 0x61C}, {0x6DD, 0x6DD}, {0x70F, 0x70F},
	{0x890, 0x891}, {0x8E2, 0x8E2}, {0x1680, 0x1680}, {0x180E, 0x180E}, {0x2000, 0x200F}, {0x2028, 0x202F},
	{0x205F, 0x206F}, {0x3000, 0x3000}, {0xE000, 0xF8FF}, {0xFEFF, 0xFEFF}, {0xFFF0, 0xFFFB}, {0xFFFD, 0xFFFD},
	{0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
	{0xE0000, 0xE007F}, {0xF0000, 0x10FFFF},
}

// hidden reports whether a character is left out. Invalid UTF-8 is left out too.
func hidden(c rune) bool {
	for _, r := range obscure {
		if c <= r[1] {
			return c >= r[0]
		}
	}
	return false
}
