package wire

import (
	"encoding/json"
	"maps"
	"testing"
)

// members collects the top level of an object.
func members(message string) map[string]string {
	found := map[string]string{}
	s := Over([]byte(message))
	if !s.Enter() {
		return nil
	}
	for name, ok := s.Next(); ok; name, ok = s.Next() {
		found[string(name)] = string(s.Value())
	}
	return found
}

func TestMembersAreFound(t *testing.T) {
	tests := []struct {
		name, message string
		want          map[string]string
	}{
		{"empty", `{}`, map[string]string{}},
		{"not an object", `[1]`, nil},
		{"plain", `{"id":7,"method":"a/b"}`, map[string]string{"id": "7", "method": `"a/b"`}},
		{"blanks", " { \"id\" : 7 ,\t\"x\" : null }\r", map[string]string{"id": "7", "x": "null"}},
		{"quotes inside", `{"a":"\"","b":"\\","c":"\\\""}`, map[string]string{"a": `"\""`, "b": `"\\"`, "c": `"\\\""`}},
		{"brackets inside", `{"a":{"b":["}",{}]},"c":[]}`, map[string]string{"a": `{"b":["}",{}]}`, "c": `[]`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := members(tt.message); !maps.Equal(got, tt.want) {
				t.Errorf("members of %s: got %v, want %v", tt.message, got, tt.want)
			}
		})
	}
}

func TestEnteringAMemberKeepsThePlace(t *testing.T) {
	s := Over([]byte(`{"params":{"name":"echo"},"id":3}`))
	s.Enter()
	s.Next()
	s.Enter()
	s.Next()
	if got := string(s.Value()); got != `"echo"` {
		t.Errorf("inner value: got %s", got)
	}
	if _, ok := s.Next(); ok {
		t.Error("the inner object has a second member")
	}
	name, ok := s.Next()
	if !ok || string(name) != "id" || string(s.Value()) != "3" {
		t.Errorf("after the inner object: got %s, %v", name, ok)
	}
}

// FuzzScanner wants no panic on anything, and the members of well-formed
// objects as encoding/json sees them.
func FuzzScanner(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a\"b"}]}}`)
	f.Add(`{"a":"\\`)
	f.Add(`{"a":[{"b":"]"}],"c":1.5e3}`)
	f.Fuzz(func(t *testing.T, message string) {
		found := members(message)
		var want map[string]json.RawMessage
		if json.Unmarshal([]byte(message), &want) != nil {
			return
		}
		if len(found) < len(want) {
			t.Errorf("found %d members of %d in %q", len(found), len(want), message)
		}
	})
}
