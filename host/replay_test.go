package host_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/replay"
	"github.com/wharf-mcp/wharf/internal/testenv"
	"github.com/wharf-mcp/wharf/plugins"
)

// taken runs talk with a host that records its guests, and returns the recording.
func taken(t *testing.T, talk func(h *host.Host)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.ndjson")
	r, err := replay.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, host.Config{Record: r, VaultDir: filepath.Join(t.TempDir(), "vault")})
	talk(h)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// replayed runs a recording on the compiler and on the interpreter, and returns what
// both say.
func replayed(t *testing.T, recording string, plugin []byte) *replay.Report {
	t.Helper()
	var first *replay.Report
	for _, o := range []replay.Options{{CacheDir: testenv.CodeDir()}, {Interpreted: true}} {
		o.Logs, o.Reads = true, true
		d, err := replay.Run(t.Context(), strings.NewReader(recording), plugin, o)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = d
		}
		if d.Same != first.Same || d.Events != first.Events || d.Calls != first.Calls {
			t.Errorf("interpreted: %+v; compiled: %+v", d, first)
		}
	}
	return first
}

// wantSame fails if the plugin that was recorded does something else now.
func wantSame(t *testing.T, recording string, plugin string) {
	t.Helper()
	d := replayed(t, recording, plugins.Builtin()[plugin]())
	if !d.Same || !d.SameFile || d.Incomplete || d.Skipped > 0 || d.Events < 5 || d.Calls < 5 {
		t.Errorf("got %+v", d)
		if d.First != nil {
			t.Errorf("%s\n- %s\n+ %s", strings.Join(d.First.Before, "\n"), d.First.Want, d.First.Got)
		}
	}
}

// A session over a process runs again without it, on either engine, and does the
// same to the byte: what is long, what fails, and what is lost and made anew.
func TestReplayOfAProcess(t *testing.T) {
	for _, name := range []string{"sdk", "legacy", "modern"} {
		t.Run(name, func(t *testing.T) {
			text := taken(t, func(h *host.Host) {
				session := connect(t, h, server(name))
				say(t, session)
				if _, err := session.CallTool(t.Context(), "no tool", nil); err == nil {
					t.Error("there is such a tool")
				}
			})
			wantSame(t, text, "stdio")
		})
	}
}

func TestReplayOfALostConnection(t *testing.T) {
	text := taken(t, func(h *host.Host) {
		s := server("legacy")
		s.Protocol = "legacy"
		session := connect(t, h, s)
		if _, err := session.CallTool(t.Context(), "dies", nil); err == nil {
			t.Error("the server lives")
		}
		say(t, session)
	})
	wantSame(t, text, "stdio")
	if n := strings.Count(text, `{"kind":"ended"`); n != 2 {
		t.Errorf("%d connections ended", n)
	}
}

// Sessions over HTTP and HTTP+SSE run again, without what signs in and what
// identifies the session, though the server repeats both.
func TestReplayOverHTTP(t *testing.T) {
	const token, key = "canary-of-the-token", "canary-of-the-header"
	repeat := func(w http.ResponseWriter, r *http.Request, id string) {
		said := fmt.Sprintf("%s; %s; %s; %s", r.Header.Get("Authorization"), r.Header.Get("X-Key"), r.URL.RawQuery, r.Header.Get("Mcp-Session-Id"))
		result(w, id, fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"resultType":"complete"}`, said))
	}
	for protocol, url := range eras(t, map[string]answer{"repeat": repeat}) {
		t.Run(protocol, func(t *testing.T) {
			session := ""
			text := taken(t, func(h *host.Host) {
				s := signed(url+"?k=canary-of-the-query", "bearer", map[string]any{"token": token})
				s.Headers, s.Protocol, s.Transport = map[string]string{"X-Key": key}, protocol, "http"
				r, err := connect(t, h, s).CallTool(t.Context(), "repeat", map[string]any{"password": "canary-of-the-caller"})
				if err != nil || strings.Count(r.Content[0].Text, "canary") != 3 {
					t.Fatalf("got %v, %v", r, err)
				}
				session = r.Content[0].Text[strings.LastIndex(r.Content[0].Text, " ")+1:]
			})
			if strings.Contains(text, "canary") || len(session) >= 8 && strings.Contains(text, session) {
				t.Errorf("secrets are shown (the session is %q):\n%s", session, text)
			}
			wantSame(t, text, "http")
		})
	}
}

func TestReplayOfSSE(t *testing.T) {
	t.Parallel()
	text := taken(t, func(h *host.Host) {
		session := connect(t, h, host.Server{Name: "old", URL: serve(t, &site{legacy: true, sse: true}), Transport: "sse"})
		say(t, session)
	})
	wantSame(t, text, "sse")
}

// A recording that has nothing of a plugin is told from a file that is no plugin.
func TestReplayErrors(t *testing.T) {
	text := taken(t, func(h *host.Host) { say(t, connect(t, h, server("modern"))) })
	builtin := plugins.Builtin()
	if _, err := replay.Run(t.Context(), strings.NewReader(text), builtin["http"](), replay.Options{}); !errors.As(err, new(*replay.FileError)) {
		t.Errorf("with the plugin of another transport: %v", err)
	}
	if _, err := replay.Run(t.Context(), strings.NewReader(text), builtin["bearer"](), replay.Options{}); !errors.Is(err, host.ErrPluginRefused) {
		t.Errorf("with an auth provider: %v", err)
	}
}
