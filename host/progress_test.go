package host_test

import (
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
