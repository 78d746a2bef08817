package gateway

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/mcp"
)

func newTestSeal(t testing.TB) *stateSealer {
	t.Helper()
	s, err := newStateSealer()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStates(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	s, other := newTestSeal(t), newTestSeal(t)
	params := []byte(`{"name":"t","arguments":{"a":1},"_meta":{"x":1},"requestState":"s","inputResponses":{}}`)
	binding := bindingOf("me", "files", "tools/call", params)
	given := requestState{call: 7, round: 3, expires: now.Add(time.Minute), binding: binding}
	text := s.seal(given)
	if again := s.seal(given); again == text {
		t.Error("a state is sealed twice with the same nonce")
	}
	bindings := map[string][32]byte{
		"other principal": bindingOf("you", "files", "tools/call", params),
		"other server":    bindingOf("me", "mail", "tools/call", params),
		"other method":    bindingOf("me", "files", "prompts/get", params),
		"other argument":  bindingOf("me", "files", "tools/call", []byte(`{"name":"t","arguments":{"a":2}}`)),
		"shifted":         bindingOf("mef", "iles", "tools/call", params),
		"no params":       bindingOf("me", "files", "tools/call", nil),
	}
	for name, b := range bindings {
		if _, err := s.unseal(text, b, now); err != errOtherRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	same := bindingOf("me", "files", "tools/call", []byte(`{"arguments":{"a":1},"name":"t","_meta":{}}`))
	if st, err := s.unseal(text, same, now); err != nil || st != given {
		t.Errorf("members in another order: %+v, %v", st, err)
	}
	for _, tt := range []struct {
		name string
		seal *stateSealer
		text string
		at   time.Time
		want error
	}{
		{"expired", s, text, now.Add(time.Minute), errExpiredState},
		{"another run", other, text, now, errOldState},
		{"cut", s, text[:len(text)-1], now, errForeignState},
		{"longer", s, text + "A", now, errForeignState},
		{"padded", s, text + "=", now, errForeignState},
		{"without its version", s, strings.TrimPrefix(text, stateVersion), now, errForeignState},
		{"empty", s, "", now, errForeignState},
		{"changed", s, text[:50] + flip(text[50:51]) + text[51:], now, errForeignState},
	} {
		if _, err := tt.seal.unseal(tt.text, binding, tt.at); err != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

// flip returns another digit.
func flip(digit string) string {
	if digit == "A" {
		return "B"
	}
	return "A"
}

// A text opens only if it was given out for the same request.
func FuzzState(f *testing.F) {
	s := newTestSeal(f)
	now := time.Unix(1_800_000_000, 0)
	binding := bindingOf("me", "files", "tools/call", []byte(`{"name":"t"}`))
	given := requestState{call: 1, round: 1, expires: now.Add(time.Minute), binding: binding}
	text := s.seal(given)
	f.Add(text, []byte(`{"name":"t"}`))
	f.Add(text[:len(text)-2], []byte(`{"name":"t","name":"u"}`))
	f.Add("w1.", []byte(`{`))
	f.Fuzz(func(t *testing.T, text2 string, params []byte) {
		b := bindingOf("me", "files", "tools/call", params)
		st, err := s.unseal(text2, b, now)
		switch {
		case err == nil && (text2 != text || st != given || b != binding):
			t.Errorf("%q opens for %s: %+v", text2, params, st)
		case text2 == text && b == binding && err != nil:
			t.Error(err)
		case errors.Is(err, errExpiredState):
			t.Error(err)
		}
	})
}

// The era of a request is that of exactly one rule, and what a modern client says is read or refused.
func FuzzEra(f *testing.F) {
	f.Add("initialize", []byte(`{}`))
	f.Add("tools/list", []byte(`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`))
	f.Add("tools/list", []byte(`{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}`))
	f.Add("x", []byte(`[{"_meta":`))
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		era := eraOf(method, params)
		if (method == mcp.MethodInitialize) != (era == mcp.Legacy) {
			t.Errorf("%q is %q", method, era)
		}
		m, refusal := readMeta(params)
		if refusal == nil && (!isObject(m.capabilities) || method != mcp.MethodInitialize && era != mcp.Modern) {
			t.Errorf("%s was read in era %q", params, era)
		}
		if era == "" {
			if _, err := serveUndecided(&request{method: method, params: params}); err == nil && method != mcp.MethodPing {
				t.Errorf("%q was served before the era was decided", method)
			}
		}
		legacyParams(params)
	})
}

func TestNegotiateVersion(t *testing.T) {
	for _, tt := range []struct{ asked, spoken, want string }{
		{"2025-11-25", "2025-11-25", "2025-11-25"},
		{"2025-06-18", "2025-11-25", "2025-06-18"},
		{"2025-11-25", "2024-11-05", "2024-11-05"},
		{"2024-11-05", "2026-07-28", "2024-11-05"},
		{"2030-01-01", "2026-07-28", "2025-11-25"},
		{"2026-07-28", "2025-06-18", "2025-06-18"},
		{"2024-10-07", "2025-11-25", "2025-11-25"},
	} {
		if got := negotiateVersion(tt.asked, tt.spoken); got != tt.want {
			t.Errorf("a client asks for %s, the server speaks %s: %s, want %s", tt.asked, tt.spoken, got, tt.want)
		}
	}
}
