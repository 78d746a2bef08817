package manager

import (
	"strings"
	"testing"
	"time"
)

// TestSetPolicy has another policy and another pulse come while a connection stands, and while the
// next dial is waited for.
func TestSetPolicy(t *testing.T) {
	for _, lines := range [][]string{
		{
			"want -> connecting(wanted), dial",
			"watched -> in 1m0s, connected(ready)",
			"+10s unwatch -> disarm",
			"+1h watch -> in 1m0s",
			"+1m tick -> ask, disarm",
			"unwatch",
			"silent",
			"watch -> in 1m0s",
			"lost -> abort, disarm, reconnecting(lost)",
		},
		{
			"want -> connecting(wanted), dial",
			"down -> in 500ms, connecting(unreachable), refuse",
			"watch",
			"+500ms tick -> connecting(unreachable), dial, disarm",
		},
	} {
		s := newScene(Policy{})
		for _, line := range lines {
			event, want, _ := strings.Cut(line, " -> ")
			if got := s.play(t, event); got != want {
				t.Errorf("%s -> %s; want %s", event, got, want)
			}
		}
	}
	s := newScene(Policy{})
	s.play(t, "want")
	s.m.SetPolicy(s.now, Policy{Backoff: []time.Duration{time.Hour}}, Pulse{})
	if got := s.play(t, "down"); got != "in 1h0m0s, connecting(unreachable), refuse" {
		t.Errorf("after another policy: %s", got)
	}
}
