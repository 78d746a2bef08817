package host

import (
	"math"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
)

// What is left of a connection whose guest had no accident: what was handed over, as
// it was in the end, and nothing else.
func TestLogbook(t *testing.T) {
	for _, c := range []struct{ given, events, want string }{
		{"", "end", ""},
		{"", "write:a end", ""},
		{"", "hand write:a", ""},
		{"", "hand write:a end", ""},
		{"", "write:a hand", ""},
		{"", "write:a hand end", "a"},
		{"", "write:a hand write:b end write:c burn", "b"},
		{"", "write:a hand write: end", ""},
		{"", "write:a write: hand end", ""},
		{"", "write:a burn write:b hand end", ""},
		{"", "write:a end hand", ""},
		{"old", "end", ""},
		{"old", "hand end", "old"},
		{"old", "write:a hand end", "a"},
		{"old", "write: hand end", ""},
		{"old", "burn hand end", ""},
	} {
		given := []byte(c.given)
		b := newLogbook(given)
		for event := range strings.FieldsSeq(c.events) {
			switch name, text, _ := strings.Cut(event, ":"); name {
			case "write":
				b.write([]byte(text))
			case "hand":
				b.hand()
			case "burn":
				b.burn()
			case "end":
				b.end(nil)
			}
		}
		if got := b.read(); string(got) != c.want {
			t.Errorf("given %q, %s: %q is left, want %q", c.given, c.events, got, c.want)
		}
		if string(given) != c.given {
			t.Errorf("given %q, %s: the guest now reads %q", c.given, c.events, given)
		}
	}
}

// A mark fits one that is the same to the letter.
func TestMark(t *testing.T) {
	one, other := &account{}, &account{}
	other.turns.Add(1)
	dialers := []*dialer{
		{via: "http"}, {via: "sse"}, {via: "http", account: one}, {via: "http", account: other},
		{via: "http", server: Server{URL: "http://a.example"}},
		{via: "http", server: Server{Headers: map[string]string{"X-Key": "1"}}},
		{via: "http", server: Server{Settings: map[string]string{"a": "1"}}},
		{via: "http", server: Server{TLS: config.TLS{Name: "a"}}},
	}
	for i, a := range dialers {
		for k, b := range dialers {
			if got := a.mark().fits(b.mark()); got != (i == k) {
				t.Errorf("%d fits %d: %v", i, k, got)
			}
		}
	}
	before := dialers[2].mark()
	one.turns.Add(1)
	if before.fits(dialers[2].mark()) {
		t.Error("it fits although somebody signed in")
	}
	strange := &dialer{server: Server{Auth: config.Auth{Settings: map[string]any{"a": math.NaN()}}}}
	if strange.mark().fits(strange.mark()) {
		t.Error("it fits although nobody can tell")
	}
}
