package replay

import (
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/redact"
)

// guarded is a session full of secrets: known ones, and ones that are called so.
var guarded = script{
	settings: []abi.Pair{{Key: "token", Value: "canary1"}, {Key: "password", Value: "pw4x"}},
	sent:     `{"jsonrpc":"2.0","id":1,"params":{"password":"canary2","text":"say canary-three and pw4x"}}`,
	came: []string{
		`{"jsonrpc":"2.0","id":1,"result":{"a":"canary-th`, `ree","apiKey":"can`, "ary4\",\"n\":1}}\n",
		`{"content":[{"text":"{\"secret\":\"canary5\"}"}]}` + "\n",
		"endpoint: /messages?sessionId=canary-six&x=1\n",
	},
}

// Whatever a guest makes of secrets, the file does not tell them, and it runs again
// as if it did.
func TestSecretsStayOut(t *testing.T) {
	for _, build := range []string{"plain", "copy", "xor"} {
		text := record(t, build, guarded, "canary-three")
		for _, word := range []string{"canary", "pw4x", "ary4", "ree\\\"", "short", string(xored("canary"))} {
			if strings.Contains(text, word) {
				t.Errorf("%s: %q is in the recording:\n%s", build, word, text)
			}
		}
		if r := replayWith(t, text, build, all); !r.Same {
			t.Errorf("%s: %+v %+v", build, r, r.First)
		}
		if hidden := strings.Contains(text, `"hidden":true`); hidden != (build == "xor") {
			t.Errorf("%s: hidden is %v", build, hidden)
		}
	}
}

// xored is what the variant makes of a message.
func xored(text string) []byte {
	p := []byte(text)
	for i := range p {
		p[i] ^= 0x55
	}
	return p
}

// Headers and addresses that identify a session or a caller are hidden in all that
// has them, and lengths stay.
func TestRedactor(t *testing.T) {
	c := newRedactor(new(redact.Set))
	head := abi.AppendHead(nil, &abi.Head{Headers: []abi.Pair{{Key: "mcp-session-id", Value: "canary-session"}, {Key: "content-type", Value: "text/plain"}}})
	request := abi.AppendOpenRequest(nil, &abi.OpenRequest{
		Grant: "main", Method: "POST", Target: "/m?sessionId=canary&x=1#f",
		Headers: []abi.Pair{{Key: "Mcp-Session-Id", Value: "canary-session"}, {Key: "Mcp-Param-Token", Value: "canary"}, {Key: "Mcp-Name", Value: "echo"}},
	})
	s := step{kind: abi.EventHead, handle: 1, arg: 200, content: content{bytes: append(head, "canary-session in the body"...)}}
	s.calls = []call{
		newCall(abi.CallOpen, []uint32{3, 1, 9, uint32(len(request))}, request, 257),
		newCall(abi.CallSave, []uint32{9, 14}, []byte("canary-session"), 0),
		newCall(abi.CallReport, []uint32{4, 1, 0, 9, 19}, []byte("canary-session ended"), 0),
		newCall(abi.CallDeliverMem, []uint32{1, 9, 20, 0}, []byte(`{"a":1,"password":"can`), 0),
		newCall(abi.CallDeliverMem, []uint32{1, 9, 20, 1}, []byte(`ary"}`), 1),
		newCall(abi.CallLog, []uint32{1, 9, 19}, []byte("it has canary-session"), 0),
	}
	s.trap = "canary-session"
	size := len(s.bytes)
	c.redact(&s)
	if text := string(textOf(&s)); strings.Contains(text, "canary") || strings.Contains(text, "ary\\\"") || len(s.bytes) != size {
		t.Errorf("got %s", text)
	}
	r, err := abi.DecodeOpenRequest(s.calls[0].bytes)
	if err != nil || r.Target != "/m?sessionId=******&x=**f" && r.Target != "/m?sessionId=******&x=*#f" || r.Headers[2].Value != "echo" || len(r.Headers[0].Value) != len("canary-session") {
		t.Errorf("request %+v, %v", r, err)
	}
	h, err := abi.DecodeHead(s.bytes)
	if err != nil || h.Headers[1].Value != "text/plain" || !c.tainted || !s.masked {
		t.Errorf("head %+v, %v", h, err)
	}
	if s := (step{kind: abi.EventEnd, handle: 1}); true {
		if c.redact(&s); len(c.received) != 0 || len(c.delivered) != 0 {
			t.Errorf("%d and %d streams are remembered", len(c.received), len(c.delivered))
		}
	}
}
