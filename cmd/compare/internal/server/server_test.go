package server

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/iotest"
)

// exchange runs the server over the lines and returns the lines of its answers.
// The input comes byte by byte when torn is set.
func exchange(t *testing.T, era Era, torn bool, lines ...string) []string {
	t.Helper()
	input := strings.NewReader(strings.Join(lines, "\n") + "\n")
	var out bytes.Buffer
	var err error
	if torn {
		err = Serve(iotest.OneByteReader(input), &out, era, Tools)
	} else {
		err = Serve(input, &out, era, Tools)
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func call(tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
}

func TestAnswers(t *testing.T) {
	tests := []struct {
		name string
		era  Era
		line string
		want string // is part of the answer
	}{
		{"initialize", Legacy, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, `"protocolVersion":"2025-11-25"`},
		{"discover, legacy", Legacy, `{"jsonrpc":"2.0","id":"d","method":"server/discover"}`, `"id":"d","error":{"code":-32601`},
		{"discover, modern", Modern, `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, `"supportedVersions":["2026-07-28"]`},
		{"ping", Legacy, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `"result":{}`},
		{"echo", Legacy, call("echo", `{"message":"a\"b"}`), `"result":{"content":[{"type":"text","text":"a\"b"}]}`},
		{"echo, modern", Modern, call("echo", `{"message":"a"}`), `"resultType":"complete"`},
		{"echo without message", Legacy, call("echo", `{}`), `"code":-32602`},
		{"unknown tool", Legacy, call("none", `{}`), `"code":-32602`},
		{"flood without count", Legacy, call("flood", `{}`), `"code":-32602`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, torn := range []bool{false, true} {
				got := exchange(t, tt.era, torn, tt.line)
				if len(got) != 1 || !strings.Contains(got[0], tt.want) || !json.Valid([]byte(got[0])) {
					t.Errorf("torn %v: got %q, want one line with %s", torn, got, tt.want)
				}
			}
		})
	}
}

func TestNotificationsAreNotAnswered(t *testing.T) {
	got := exchange(t, Legacy, false,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if len(got) != 1 {
		t.Errorf("got %q, want the answer to ping alone", got)
	}
}

func TestLargeLineAmongSmallOnes(t *testing.T) {
	large := strings.Repeat("x", 300<<10)
	got := exchange(t, Legacy, false, call("echo", `{"message":"a"}`),
		call("echo", `{"message":"`+large+`"}`), call("echo", `{"message":"b"}`))
	if len(got) != 3 || !strings.Contains(got[1], large) {
		t.Errorf("got %d answers, want 3, the second with the large text", len(got))
	}
}

func TestFloodSendsEveryNotification(t *testing.T) {
	got := exchange(t, Legacy, false, call("flood", `{"count":1000}`))
	if len(got) != 1001 || !strings.Contains(got[1000], `"done"`) {
		t.Errorf("got %d lines, want 1000 notifications and the answer", len(got))
	}
}

func TestTextIsFoundByLength(t *testing.T) {
	for _, era := range []Era{Legacy, Modern} {
		line := exchange(t, era, false, call("echo", `{"message":"hello"}`))[0]
		var reply struct{ Result json.RawMessage }
		if err := json.Unmarshal([]byte(line), &reply); err != nil {
			t.Fatal(err)
		}
		if text := Text(reply.Result); string(text) != "hello" {
			t.Errorf("%s: got %q", era, text)
		}
	}
}

func TestToolListIsValid(t *testing.T) {
	for _, era := range []Era{Legacy, Modern} {
		var list struct{ Tools []json.RawMessage }
		if err := json.Unmarshal(toolList(era, 123), &list); err != nil || len(list.Tools) != 123 {
			t.Errorf("%s: got %d tools, error %v", era, len(list.Tools), err)
		}
	}
}
