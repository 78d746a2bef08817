package sse

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/sdk"
)

// Refusal is a response that says no, for people: its status and the beginning
// of its body. The zero value is ready.
type Refusal struct {
	Status int
	body   [200]byte
	n      int
}

// Reset makes r ready for another response.
func (r *Refusal) Reset(status int) { r.Status, r.n = status, 0 }

// Add keeps what is needed of the next bytes of the body and reports whether
// more of them would make no difference.
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
		case c != utf8.RuneError && strconv.IsPrint(c):
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
