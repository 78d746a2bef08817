package host_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/plugins"
)

// taken runs talk with a host that records its guests, and returns the recording.
func taken(t *testing.T, talk func(h *host.Host)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.ndjson")
	r, err := host.CreateRecording(path)
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
func replayed(t *testing.T, recording string, plugin []byte) *host.ReplayReport {
	t.Helper()
	var first *host.ReplayReport
	for _, o := range []host.ReplayOptions{{CacheDir: cacheDir(t)}, {Interpreted: true}} {
		o.Logs, o.Reads = true, true
		d, err := host.Replay(t.Context(), strings.NewReader(recording), plugin, o)
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
	d := replayed(t, recording, plugins.Builtin()[plugin])
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
				if _, err := session.CallTool(t.Context(), "nothing like it", nil); err == nil {
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

var _ = bytes.Clone
