package connect

import (
	"math"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/config"
)

// What is left of a connection whose guest had no accident: what was handed over, as
// it was in the end, and nothing else.
func TestSavedState(t *testing.T) {
	for _, c := range []struct{ given, events, want string }{
		{"", "end", ""},
		{"", "write:a end", ""},
		{"", "hand write:a", ""},
		{"", "hand write:a end", ""},
		{"", "write:a hand", ""},
		{"", "write:a hand end", "a"},
		{"", "write:a hand write:b end write:c discard", "b"},
		{"", "write:a hand write: end", ""},
		{"", "write:a write: hand end", ""},
		{"", "write:a discard write:b hand end", ""},
		{"", "write:a end hand", ""},
		{"old", "end", ""},
		{"old", "hand end", "old"},
		{"old", "write:a hand end", "a"},
		{"old", "write: hand end", ""},
		{"old", "discard hand end", ""},
	} {
		given := []byte(c.given)
		b := &savedState{text: given}
		for event := range strings.FieldsSeq(c.events) {
			switch name, text, _ := strings.Cut(event, ":"); name {
			case "write":
				b.write([]byte(text))
			case "hand":
				b.handOver()
			case "discard":
				b.discard()
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

// A key fits one that is the same to the letter.
func TestResumeKey(t *testing.T) {
	one, other := &SharedAccount{}, &SharedAccount{}
	other.Turns.Add(1)
	attempts := []*attempt{
		{via: "http"}, {via: "sse"}, {via: "http", account: one}, {via: "http", account: other},
		{via: "http", server: config.Server{URL: "http://a.example"}},
		{via: "http", server: config.Server{Headers: map[string]string{"X-Key": "1"}}},
		{via: "http", server: config.Server{Settings: map[string]string{"a": "1"}}},
		{via: "http", server: config.Server{TLS: config.TLS{Name: "a"}}},
	}
	for i, a := range attempts {
		for k, b := range attempts {
			if got := a.resumeKey().fits(b.resumeKey()); got != (i == k) {
				t.Errorf("%d fits %d: %v", i, k, got)
			}
		}
	}
	before := attempts[2].resumeKey()
	one.Turns.Add(1)
	if before.fits(attempts[2].resumeKey()) {
		t.Error("it fits although the account signed in again")
	}
	strange := &attempt{server: config.Server{Auth: config.Auth{Settings: map[string]any{"a": math.NaN()}}}}
	if strange.resumeKey().fits(strange.resumeKey()) {
		t.Error("it fits although the entry cannot be encoded")
	}
}
