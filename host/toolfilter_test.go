package host_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// The tools that an entry does not permit are not listed, and a call of one is denied
// before anything is sent, however it is made.
func TestPermittedTools(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.Config{})
	all := listed(t, connect(t, h, server("sdk")))
	if !slices.Contains(all, "echo") || len(all) < 2 {
		t.Fatalf("the server has %q", all)
	}
	for name, tt := range map[string]struct {
		enabled, disabled, want []string
		says                    string
	}{
		"disabled":            {nil, []string{"echo", "absent"}, slices.DeleteFunc(slices.Clone(all), func(n string) bool { return n == "echo" }), "disabled_tools"},
		"disabled by *":       {nil, []string{"ec*o"}, slices.DeleteFunc(slices.Clone(all), func(n string) bool { return n == "echo" }), "disabled_tools"},
		"enabled":             {[]string{"fail", "absent"}, nil, []string{"fail"}, "enabled_tools"},
		"enabled by *":        {[]string{"f*l"}, nil, []string{"fail"}, "enabled_tools"},
		"none is enabled":     {[]string{}, nil, nil, "enabled_tools"},
		"disabled goes first": {[]string{"echo", "fail"}, []string{"echo"}, []string{"fail"}, "disabled_tools"},
	} {
		t.Run(name, func(t *testing.T) {
			entry := server("sdk")
			entry.EnabledTools, entry.DisabledTools = tt.enabled, tt.disabled
			s := connect(t, h, entry)
			if got := listed(t, s); !slices.Equal(got, tt.want) {
				t.Errorf("lists %q, want %q", got, tt.want)
			}
			var raw struct{ Tools []mcp.Tool }
			if err := s.Call(t.Context(), mcp.MethodListTools, nil, &raw); err != nil || len(raw.Tools) != len(tt.want) {
				t.Errorf("as a request it lists %d, %v, want %q", len(raw.Tools), err, tt.want)
			}
			text, err := s.Relay(t.Context(), host.Relay{Method: mcp.MethodListTools})
			if raw.Tools = nil; err != nil || json.Unmarshal(text, &raw) != nil || len(raw.Tools) != len(tt.want) {
				t.Errorf("relayed it lists %s, %v, want %q", text, err, tt.want)
			}
			_, err = s.CallTool(t.Context(), "echo", map[string]string{"text": "x"})
			again := s.Call(t.Context(), mcp.MethodCallTool, map[string]any{"name": "echo", "arguments": map[string]string{"text": "x"}}, nil)
			escaped := s.Call(t.Context(), mcp.MethodCallTool, json.RawMessage(`{"name":"ech\u006f"}`), nil)
			named := `"echo"`
			if name == "disabled by *" {
				named = `"ec*o"`
			}
			_, relayed := s.Relay(t.Context(), host.Relay{Method: mcp.MethodCallTool, Params: json.RawMessage(`{"name":"ech\u006f"}`)})
			for _, err := range []error{err, again, escaped, relayed} {
				if !errors.Is(err, host.ErrDenied) || !strings.Contains(err.Error(), tt.says) || !strings.Contains(host.Hint(err), named) {
					t.Errorf("error %v, hint %q", err, host.Hint(err))
				}
			}
			for _, params := range []string{`{"name":"fail","name":"echo"}`, `{"name":"echo","name":"fail"}`, `{"name":"fail","Name":"echo"}`, `{"NAME":"echo","name":"fail"}`, `{"name":"fail","n\u0061mE":"echo"}`} {
				if err := s.Call(t.Context(), mcp.MethodCallTool, json.RawMessage(params), nil); !errors.Is(err, host.ErrDenied) {
					t.Errorf("%s: %v, although a server may read the other name", params, err)
				}
				if _, err := s.Relay(t.Context(), host.Relay{Method: mcp.MethodCallTool, Params: json.RawMessage(params)}); !errors.Is(err, host.ErrDenied) {
					t.Errorf("%s relayed: %v, although a server may read the other name", params, err)
				}
			}
			for _, name := range []string{"echo", "fail"} {
				if err := s.Notify(t.Context(), mcp.MethodCallTool, map[string]string{"name": name}); !errors.Is(err, host.ErrDenied) {
					t.Errorf("%s as a notification: %v", name, err)
				}
			}
		})
	}
}

func listed(t *testing.T, s *host.Session) (names []string) {
	t.Helper()
	tools, err := s.ListTools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	return names
}
