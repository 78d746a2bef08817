package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi/verdict"
)

// What a policy says fits a verdict, whatever it quotes. What is no call gets none, and no verdict denies.
func TestDecide(t *testing.T) {
	say := func(c *Call) Verdict {
		switch c.Name {
		case "none":
			return Verdict{}
		case "ask":
			return Asked("it costs money")
		}
		return Denied("%s%s", c.Name, strings.Repeat("é", verdict.MaxReply))
	}
	for name, want := range map[string]string{"none": `{"id":7,"verdict":"deny"}`, "ask": `{"id":7,"verdict":"ask","reason":"it costs money"}`} {
		if got, err := Decide(say, []byte(`{"id":7,"name":"`+name+`"}`)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for _, name := range []string{"x", "xx"} {
		got, err := Decide(say, []byte(`{"id":7,"name":"`+name+`"}`))
		var v verdict.Verdict
		if err != nil || json.Unmarshal(got, &v) != nil || len(v.Reason) > verdict.MaxReason || len(v.Reason) < verdict.MaxReason-2 || strings.Contains(v.Reason, "\ufffd") {
			t.Errorf("a long reason has %d bytes, %v", len(v.Reason), err)
		}
	}
	for _, text := range []string{"", "[]", `{"id":-1}`, `{"id":1`} {
		if got, err := Decide(say, []byte(text)); err == nil || !strings.Contains(err.Error(), "not of this contract") {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}
