package connect

import (
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/capability"
)

// TestGrace holds that only a host for one call ends servers quickly.
func TestGrace(t *testing.T) {
	for oneShot, want := range map[bool]capability.Grace{true: capability.OneShot(), false: {}} {
		if got := (&Config{OneShot: oneShot}).grace(); got != want {
			t.Errorf("OneShot %v: %+v, want %+v", oneShot, got, want)
		}
	}
}
