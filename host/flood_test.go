package host_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
)

// A program that does not listen holds up no answer, and does not have to hold
// what it does not hear; in the end it learns that it missed some.
func TestFloodWithoutAListener(t *testing.T) {
	release, missed := make(chan struct{}), make(chan string, 1)
	h := newHost(t, host.Config{Timeout: time.Hour, Event: func(e host.Event) {
		<-release
		if strings.Contains(e.Warning, "were dropped") {
			missed <- e.Server
		}
	}})
	s := connect(t, h, server("modern"))
	for range 3 {
		if _, err := s.CallTool(t.Context(), "notes", nil); err != nil {
			t.Fatal(err)
		}
		say(t, s)
	}
	close(release)
	if got := <-missed; got != "modern" {
		t.Errorf("%s was too fast", got)
	}
}
