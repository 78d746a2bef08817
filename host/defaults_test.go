package host

import (
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/connect"
	"github.com/wharf-mcp/wharf/host/internal/manager"
)

// What Config and README.md say of a host that is told nothing.
func TestDefaults(t *testing.T) {
	if connect.DefaultMessageCap != 16<<20 {
		t.Errorf("a message may have %d bytes", connect.DefaultMessageCap)
	}
	for oneShot, every := range map[bool]time.Duration{false: time.Minute, true: 0} {
		h, err := New(t.Context(), Config{OneShot: oneShot})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		if h.config.Timeout != 30*time.Second {
			t.Errorf("a request has %v", h.config.Timeout)
		}
		for _, c := range []struct {
			entry Server
			want  manager.Pulse
		}{
			{Server{}, manager.Pulse{Every: every, Timeout: 10 * time.Second}},
			{Server{Ping: -1}, manager.Pulse{Timeout: 10 * time.Second}},
			{Server{Ping: 7 * time.Second, PingTimeout: 8 * time.Second}, manager.Pulse{Every: 7 * time.Second, Timeout: 8 * time.Second}},
		} {
			c.entry.Name, c.entry.Command = "a", "a"
			s, err := h.Add(c.entry)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.pulse(); got != c.want {
				t.Errorf("one-shot %t, %v: %+v, want %+v", oneShot, c.entry.Ping, got, c.want)
			}
		}
	}
}
