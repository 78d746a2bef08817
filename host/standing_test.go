package host_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
)

// What a program that watches sees of a server that is added, started, lost,
// turned off, turned on and closed. Its tools stay meanwhile, and are marked until
// they have been listed anew.
func TestHowItStands(t *testing.T) {
	h := newHost(t, host.Config{Reconnect: host.Policy{Ladder: []time.Duration{time.Millisecond}}})
	w := h.Watch()
	defer w.Close()
	s, err := h.Add(server("modern"))
	if err != nil {
		t.Fatal(err)
	}
	until := func(state host.State) string {
		for {
			n, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n.State == state {
				return fmt.Sprintf("%v (%v)", n.State, n.Reason)
			}
		}
	}
	listed := func(stale bool) {
		t.Helper()
		if st := s.Status(); st.Tools != len(tools) || st.Stale != stale {
			t.Errorf("%d tools, stale: %v", st.Tools, st.Stale)
		}
	}
	if got := until(host.StateDisconnected); got != "disconnected (not-started)" {
		t.Errorf("it is %s", got)
	}
	s.Start()
	if got := until(host.StateConnected); got != "connected (ready)" {
		t.Errorf("it is %s", got)
	}
	first := s.Status()
	if first.Era != "modern" || first.Transport != "stdio" || first.Protocol != "2026-07-28" || first.Since.IsZero() {
		t.Errorf("%+v", first)
	}
	list := func() {
		t.Helper()
		if _, err := s.ListTools(t.Context()); err != nil {
			t.Error(err)
		}
	}
	list()
	listed(false)

	if _, err := s.CallTool(t.Context(), "dies", nil); !errors.Is(err, host.ErrUnreachable) {
		t.Error(err)
	}
	for st := first; !st.Since.After(first.Since) || st.State != host.StateConnected; {
		n, err := w.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		st = n.Status
	}
	listed(true)
	list()
	listed(false)

	s.Disable()
	until(host.StateDisabled)
	if _, err := s.CallTool(t.Context(), "echo", nil); !errors.Is(err, host.ErrNotSent) {
		t.Errorf("a disabled server: %v", err)
	}
	s.Enable()
	say(t, s)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if all := h.Servers(); len(all) != 0 {
		t.Errorf("left are %+v", all)
	}
}
