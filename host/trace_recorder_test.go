package host_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/trace"
)

// recorded runs talk with a host that writes a trace, and returns what was
// written: as it is, and line by line.
func recorded(t *testing.T, talk func(h *host.Host)) (text string, lines []trace.Line) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trace.ndjson")
	r, err := trace.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, host.Config{Trace: r, VaultDir: filepath.Join(t.TempDir(), "vault")})
	talk(h)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	written, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for l, err := range trace.Read(strings.NewReader(string(written))) {
		if err != nil {
			t.Error(err)
		}
		lines = append(lines, l)
	}
	return string(written), lines
}

// outline is what a trace says of kinds and methods, line by line.
func outline(lines []trace.Line) string {
	var out strings.Builder
	for _, l := range lines {
		fmt.Fprintln(&out, strings.Join(strings.Fields(fmt.Sprint(l.Connection, " ", l.Protocol, " ", l.Direction, " ", l.Kind, " ", l.Method)), " "))
	}
	return out.String()
}

// A process that dies under its session is another connection afterwards, and the
// trace tells why the first one ended.
func TestRecordOfALostConnection(t *testing.T) {
	text, lines := recorded(t, func(h *host.Host) {
		s := server("legacy")
		s.Protocol, s.Env["TOKEN"] = "legacy", "canary-of-the-variable"
		session := connect(t, h, s)
		if _, err := session.CallTool(t.Context(), "dies", map[string]any{"message": "canary-of-the-variable"}); err == nil {
			t.Error("the server lives")
		}
		say(t, session)
	})
	want := `0 start
1 opened
1 sent request initialize
1 received response initialize
1 2025-11-25 sent notification notifications/initialized
1 2025-11-25 sent request tools/call
1 lost
2 opened
2 sent request initialize
2 received response initialize
2 2025-11-25 sent notification notifications/initialized
2 2025-11-25 sent request tools/call
2 2025-11-25 received response tools/call
2 closed
0 end
`
	if got := outline(lines); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, l := range lines {
		if l.Kind == trace.Response && !l.Timed {
			t.Errorf("the trace does not say how long %s took", l.Method)
		}
		if l.Kind == trace.Lost && !strings.Contains(l.Why, "exit") {
			t.Errorf("lost, because %q", l.Why)
		}
	}
	if strings.Contains(text, "canary") {
		t.Error("the variable is shown")
	}
}

// What signs in over HTTP stays out, though the server repeats it: a token that a
// provider gives, and a configured header.
func TestRecordOfSecretsOverHTTP(t *testing.T) {
	const token, key = "canary-of-the-token", "canary-of-the-header"
	repeat := func(w http.ResponseWriter, r *http.Request, id string) {
		said := fmt.Sprintf("%s; %s; %s", r.Header.Get("Authorization"), r.Header.Get("X-Key"), r.URL.RawQuery)
		if strings.Count(said, "canary") != 3 {
			t.Errorf("the server was told: %s", said)
		}
		result(w, id, fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"resultType":"complete"}`, said))
	}
	for protocol, url := range eras(t, map[string]answer{"repeat": repeat}) {
		text, lines := recorded(t, func(h *host.Host) {
			s := signed(url+"?k=canary-of-the-query", "bearer", map[string]any{"token": token})
			s.Headers, s.Protocol = map[string]string{"X-Key": key}, protocol
			r, err := connect(t, h, s).CallTool(t.Context(), "repeat", nil)
			if err != nil || strings.Count(r.Content[0].Text, "canary") != 3 {
				t.Errorf("got %v, %v", r, err)
			}
		})
		if strings.Contains(text, "canary") || !strings.Contains(text, "[secret]; [secret]; k=[secret]") {
			t.Errorf("%s: secrets are shown: %s", protocol, text)
		}
		if got := outline(lines); !strings.Contains(got, "sent request tools/call\n") || !strings.Contains(got, "received response tools/call\n") {
			t.Errorf("%s: got\n%s", protocol, got)
		}
	}
}

// Each layer shows what it is called for, on the streams of a process and over
// HTTP, and nothing of the others.
func TestLayers(t *testing.T) {
	t.Parallel()
	web := serve(t, &site{})
	for name, s := range map[string]host.Server{"stdio": server("modern"), "http": {Name: "web", URL: web, Protocol: "2026-07-28"}} {
		for layer, want := range map[string]struct{ has, lacks []string }{
			"rpc": {[]string{`-> {"jsonrpc":"2.0"`, `<- {"jsonrpc":"2.0"`}, []string{"event(", "    | "}},
			"abi": {[]string{"--> event(MESSAGE, ", "<-- deliver("}, []string{"jsonrpc", "    | "}},
			"io":  {[]string{"--> event(MESSAGE, ", `    | "`, `\"jsonrpc\":\"2.0\"`}, []string{`-> {"jsonrpc"`}},
		} {
			shown := new(lockedBuffer)
			tr, err := trace.NewPrinter(layer, shown)
			if err != nil {
				t.Fatal(err)
			}
			say(t, connect(t, newHost(t, host.Config{Print: tr}), s))
			for _, text := range want.has {
				if !strings.Contains(shown.String(), text) {
					t.Errorf("%s of %s lacks %q:\n%s", layer, name, text, shown)
				}
			}
			for _, text := range want.lacks {
				if strings.Contains(shown.String(), text) {
					t.Errorf("%s of %s has %q:\n%s", layer, name, text, shown)
				}
			}
		}
	}
}
