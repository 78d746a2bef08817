package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/extism/speaker"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// A policy plugin decides on the arguments of a call, however the call is made, and on lists.
func TestPolicies(t *testing.T) {
	t.Parallel()
	file, err := filepath.Abs("../examples/policy-paths-c/paths.wasm")
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, host.Config{
		Files:    map[string]config.Plugin{"paths": {Name: "paths", File: file}},
		Policies: []config.Policy{{Name: "notes", Plugin: "paths", Arguments: true, Servers: []string{"surface"}, Settings: map[string]any{"folder": "/srv/notes"}}},
	})
	s, err := h.Add(server("surface"))
	if err != nil {
		t.Fatal(err)
	}
	if tools, err := s.ListTools(t.Context()); err != nil || len(tools) == 0 {
		t.Errorf("tools %v, %v", tools, err)
	}
	for name, try := range map[string]func(ctx context.Context, arguments any) error{
		"call": func(ctx context.Context, arguments any) error {
			_, err := s.CallTool(ctx, "log", arguments)
			return err
		},
		"begin": func(ctx context.Context, arguments any) error {
			_, err := s.BeginTask(ctx, "log", arguments, 0)
			return err
		},
		"raw": func(ctx context.Context, arguments any) error {
			return s.Call(ctx, mcp.MethodCallTool, map[string]any{"name": "log", "arguments": arguments}, nil)
		},
		"relayed": func(ctx context.Context, arguments any) error {
			params, _ := json.Marshal(map[string]any{"name": "log", "arguments": arguments})
			_, err := s.Relay(ctx, host.Relay{Method: mcp.MethodCallTool, Params: params})
			return err
		},
	} {
		err := try(t.Context(), map[string]any{"path": "/etc/passwd"})
		if !errors.Is(err, host.ErrDenied) || !strings.Contains(err.Error(), "policy.notes; /etc/passwd is not a whole path within /srv/notes") {
			t.Errorf("%s: %v", name, err)
		}
		if err := try(t.Context(), map[string]any{"path": "/srv/notes/a"}); errors.Is(err, host.ErrDenied) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.GetPrompt(t.Context(), "greet", map[string]string{"path": "/etc"}); !errors.Is(err, host.ErrDenied) {
		t.Errorf("a prompt: %v", err)
	}
	if _, err := s.CallTool(t.Context(), "log", json.RawMessage(`{"path":"/srv/notes/a","Path":"/etc"}`)); !errors.Is(err, host.ErrDenied) {
		t.Errorf("two names for one: %v", err)
	}
}

// A person is asked if a policy wants that. Without one, or if the request comes unattended, it is denied.
func TestPoliciesThatAsk(t *testing.T) {
	t.Parallel()
	asks := speaker.Module{
		Describe: "wharf_policy_describe", Call: "wharf_policy_decide", Exit: -1,
		Manifest: `{"abi":"wharf-policy-0","name":"asks","version":"1"}`, Reply: `{"id":0,"verdict":"ask","reason":"it costs money"}`,
	}.Counting()
	file := filepath.Join(t.TempDir(), "asks.wasm")
	if err := os.WriteFile(file, asks.Binary(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		confirm func(context.Context, policy.Question) (bool, error)
		want    string
	}{
		"no person is there": {nil, "a person is to be asked, and none can be here"},
		"no":                 {func(context.Context, policy.Question) (bool, error) { return false, nil }, "the person who was asked said no"},
		"an error":           {func(context.Context, policy.Question) (bool, error) { return true, errors.New("it left") }, "was not: it left"},
		"yes": {func(_ context.Context, q policy.Question) (bool, error) {
			if q.Name != "count" || q.Reason != "it costs money" || !strings.Contains(q.String(), "surface/count") {
				t.Errorf("asked %q", q.String())
			}
			return true, nil
		}, ""},
	} {
		h := newHost(t, host.Config{
			Files:    map[string]config.Plugin{"asks": {Name: "asks", File: file}},
			Policies: []config.Policy{{Name: "costs", Plugin: "asks"}}, Confirm: tt.confirm,
		})
		s, err := h.Add(server("surface"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.CallTool(t.Context(), "count", nil)
		if denied := errors.Is(err, host.ErrDenied); denied != (tt.want != "") || denied && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
