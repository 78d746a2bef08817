package step

import (
	"encoding/json"
	"testing"
)

func TestHasState(t *testing.T) {
	for state, want := range map[string]bool{
		"": false, "null": false, " null\n": false, "{}": false, " { \t}\r\n": false,
		`{"keep":"key"}`: true, `{"keep":null}`: true, `"key"`: true, `""`: true, "0": true, "false": true, "[]": true, "{{}": true,
	} {
		if got := HasState(json.RawMessage(state)); got != want {
			t.Errorf("%q: %v", state, got)
		}
	}
}
