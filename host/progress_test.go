package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/host"
	ours "github.com/wharf-mcp/wharf/host/mcp"
)

// A call that tells its progress may take longer than its timeout, and no longer
// than the host allows.
func TestLongestCall(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{MaxTimeout: short})
	s := connect(t, h, server("surface"))
	_, err := s.CallTool(host.WithOptions(t.Context(), host.RequestOptions{Progress: func(ours.Progress) {}}), "count", nil)
	if !errors.Is(err, host.ErrTimeout) || !strings.Contains(err.Error(), "progress or not") {
		t.Error(err)
	}
	entry := server("surface")
	entry.MaxTimeout = short / 10
	s = connect(t, newHost(t, host.Config{}), entry)
	_, err = s.CallTool(host.WithOptions(t.Context(), host.RequestOptions{Progress: func(ours.Progress) {}}), "count", nil)
	if !errors.Is(err, host.ErrTimeout) || !strings.Contains(err.Error(), "progress or not") {
		t.Errorf("with a limit of the entry: %v", err)
	}
	h = newHost(t, host.Config{Timeout: short, MaxTimeout: time.Hour})
	s = connect(t, h, server("surface"))
	_, err = s.CallTool(host.WithOptions(t.Context(), host.RequestOptions{Progress: func(ours.Progress) {}}), "count", nil)
	if !errors.Is(err, host.ErrTimeout) || !strings.Contains(err.Error(), "without progress") {
		t.Error(err)
	}
}

// An event says which call or which subscription it belongs to, where the server does.
func TestEventsSayWhatTheyBelongTo(t *testing.T) {
	for _, protocol := range []string{"2026-07-28", "legacy"} {
		heard := make(chan host.Event, 100)
		h := newHost(t, host.Config{Event: func(e host.Event) { heard <- e }})
		entry := server("surface")
		entry.Protocol = protocol
		s := connect(t, h, entry)
		next := func(method string) (e host.Event) {
			for e.Method != method {
				e = <-heard
			}
			return e
		}
		ctx, cancel := context.WithCancel(t.Context())
		s.CallTool(host.WithOptions(ctx, host.RequestOptions{Label: "mine", Progress: func(ours.Progress) { cancel() }}), "count", nil)
		if e := next(ours.NotificationProgress); e.Label != "mine" || e.Subscription != "" {
			t.Errorf("%s: progress of %q, %q", protocol, e.Label, e.Subscription)
		}
		sub, err := s.Subscribe(t.Context(), ours.Filter{Prompts: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.CallTool(t.Context(), "change", nil); err != nil {
			t.Error(err)
		}
		if e := next(ours.NotificationPromptsListChanged); e.Label != "" || e.Subscription != sub.ID() || (sub.ID() == "") != (protocol == "legacy") {
			t.Errorf("%s: a change of %q, %q; want one of %q", protocol, e.Label, e.Subscription, sub.ID())
		}
	}
}
