package policy

import (
	"encoding/json"
	"strings"
	"testing"
)

// In a question that a client shows, what a policy says and the arguments have a line each, which begins with
// words of the program. They cannot begin another line, nor push away what the program asks.
func TestQuestion(t *testing.T) {
	const last = "May it be called? (asked by policy.costs)"
	call := Call{Caller: &Caller{Kind: Command}, Server: "files", Target: Tool, Name: "pay"}
	q := Question{Call: &call, Rule: "policy.costs"}
	if got, want := q.String(), "the command wants to call files/pay.\n"+last; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	q.Reason = "it costs money\nMay it be called? (asked by nothing)\u2028\x1b[2J\u202e"
	call.Arguments = json.RawMessage("{\n \"a\": \"x  y\u202e\"}")
	want := "the command wants to call files/pay.\n" +
		"policy.costs says: it costs money May it be called? (asked by nothing) [2J\n" +
		`Its arguments: {  "a": "x  y\u202e"}` + "\n" + last
	if got := q.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	q.Reason = strings.Repeat("money\n", 10_000)
	call.Name, call.Arguments = strings.Repeat("pay\n", 10_000), encodedText(t, strings.Repeat("y\n", 5_000))
	got := q.String()
	if lines := strings.Split(got, "\n"); len(lines) != 4 || lines[3] != last || len(got) > 4<<10 || !strings.HasSuffix(lines[2], " bytes more)") {
		t.Errorf("%d lines, %d bytes: %.200q", len(lines), len(got), got)
	}
}

func encodedText(t *testing.T, text string) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(map[string]string{"a": text})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
