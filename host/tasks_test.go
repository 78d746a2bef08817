package host_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// TestPageAndTaskArePermitted holds that a page lists, and a task runs, no tool that the
// entry does not permit.
func TestPageAndTaskArePermitted(t *testing.T) {
	for _, era := range []string{"legacy", "modern"} {
		entry := server(era)
		entry.EnabledTools = []string{"echo", "mute"}
		s := connect(t, newHost(t, host.Config{}), entry)
		tools, next, err := host.Page[mcp.Tool](t.Context(), s, nil)
		names := make([]string, len(tools))
		for i, tool := range tools {
			names[i] = tool.Name
		}
		if err != nil || next != nil || !slices.Equal(names, []string{"echo", "mute"}) {
			t.Errorf("%s: %q, %v, %v", era, names, next, err)
		}
		if _, err := s.BeginTask(t.Context(), "twice", nil, 0); !errors.Is(err, host.ErrDenied) {
			t.Errorf("%s: %v", era, err)
		}
		task, err := s.BeginTask(t.Context(), "echo", map[string]string{"message": "a"}, 0)
		switch {
		case era == "legacy" && !errors.Is(err, host.ErrUnsupported):
			t.Errorf("a server without tasks: %+v, %v", task, err)
		case era == "modern" && (err != nil || task.Status != mcp.TaskCompleted || task.Result == nil):
			t.Errorf("a call that ended at once: %+v, %v", task, err)
		}
		if _, _, err := host.Page[mcp.Tool](host.WithOptions(t.Context(), host.RequestOptions{Meta: []byte(`7`)}), s, nil); !errors.Is(err, host.ErrNotSent) {
			t.Errorf("%s: %v", era, err)
		}
	}
}
