package generate

import (
	"encoding/json"
	"fmt"
	"testing"
)

// TestManyEqualNames takes the same name often: each number is tried once.
func TestManyEqualNames(t *testing.T) {
	n := newNames("A3")
	for i, want := range []string{"A", "A2", "A4", "A5"} {
		if got := n.take("A"); got != want {
			t.Errorf("name %d is %s, want %s", i, got, want)
		}
	}
	const many = 30_000
	for range many - 5 {
		n.take("A")
	}
	if got, want := n.take("A"), fmt.Sprint("A", many+1); got != want {
		t.Errorf("the last is %s, want %s", got, want)
	}
	if n["A"] != many+1 {
		t.Errorf("%d numbers were tried for %d names", n["A"], many)
	}
}

// TestManyValues reads a choice of more values than a choice may have, in a time that does
// not grow with their square.
func TestManyValues(t *testing.T) {
	values := make([]json.RawMessage, 60_000)
	for i := range values {
		values[i] = json.RawMessage(fmt.Sprintf("%q", fmt.Sprint("value-of-a-choice-", i)))
	}
	r := &reader{types: newNames()}
	s := r.enum(values, "X")
	if s.kind != text || len(s.values) > maxValues+1 {
		t.Errorf("kind %v with %d values", s.kind, len(s.values))
	}
	if s := r.enum(append(values, json.RawMessage("null"), json.RawMessage("1")), "X"); s.kind != unknown || !s.nullable {
		t.Errorf("mixed values: %+v", s)
	}
}
