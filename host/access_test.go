package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// What deciders deny is not listed, and a request about it is denied before anything is sent, however the
// request is made. The caller is that of the context, or else that of the client.
func TestAccess(t *testing.T) {
	t.Parallel()
	rules, err := policy.New([]policy.Table{
		{Name: "editors", Match: []string{"client:editor"}, Allow: []string{"surface/count", "surface/log", "resource:surface/test:///*", "prompt:surface/n*"}, Deny: []string{"*/LOG", "resource:*/test:///b", "resource:*/*{name}"}},
		{Name: "robots", Match: []string{"client:robot"}, Deny: []string{"*"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, host.Config{Deciders: []policy.Decider{rules}, Client: host.Client{Caller: policy.Caller{Kind: policy.Command, Name: "robot"}}})
	editor := policy.WithCaller(t.Context(), &policy.Caller{Kind: policy.Bridge, Name: "editor"})
	s, err := h.Add(server("surface"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	tools, err := s.ListTools(editor)
	if err != nil || len(tools) != 1 || tools[0].Name != "count" {
		t.Errorf("tools %v, %v", tools, err)
	}
	resources, err := s.ListResources(editor)
	if err != nil || len(resources) != 4 || slices.ContainsFunc(resources, func(r mcp.Resource) bool { return r.URI == "test:///b" }) {
		t.Errorf("resources %v, %v", resources, err)
	}
	if templates, err := s.ListResourceTemplates(editor); err != nil || len(templates) != 0 {
		t.Errorf("templates %v, %v", templates, err)
	}
	if prompts, err := s.ListPrompts(editor); err != nil || len(prompts) != 0 {
		t.Errorf("prompts %v, %v", prompts, err)
	}
	if page, _, err := host.Page[mcp.Tool](editor, s, nil); err != nil || len(page) > 1 {
		t.Errorf("a page of tools: %v, %v", page, err)
	}
	if _, err := s.ReadResource(editor, "test:///a"); err != nil {
		t.Error(err)
	}
	for name, try := range map[string]func(ctx context.Context) error{
		"call":       func(ctx context.Context) error { _, err := s.CallTool(ctx, "log", nil); return err },
		"begin":      func(ctx context.Context) error { _, err := s.BeginTask(ctx, "log", nil, 0); return err },
		"read":       func(ctx context.Context) error { _, err := s.ReadResource(ctx, "test:///b"); return err },
		"read above": func(ctx context.Context) error { _, err := s.ReadResource(ctx, "test:///a/../b"); return err },
		"prompt":     func(ctx context.Context) error { _, err := s.GetPrompt(ctx, "greet", nil); return err },
		"complete": func(ctx context.Context) error {
			_, err := s.Complete(ctx, mcp.CompleteParams{Ref: mcp.Ref{Type: "ref/prompt", Name: "greet"}})
			return err
		},
		"subscribe": func(ctx context.Context) error {
			_, err := s.Subscribe(ctx, mcp.Filter{URIs: []string{"test:///a", "test:///b"}})
			return err
		},
		"any": func(ctx context.Context) error { return s.Call(ctx, "x/y", nil, nil) },
		"raw": func(ctx context.Context) error {
			return s.Call(ctx, mcp.MethodCallTool, map[string]string{"name": "log"}, nil)
		},
		"relayed": func(ctx context.Context) error {
			_, err := s.Relay(ctx, host.Relay{Method: mcp.MethodListen, Params: json.RawMessage(`{"notifications":{"resourceSubscriptions":["test:///b"]}}`)})
			return err
		},
		"notified": func(ctx context.Context) error {
			return s.Notify(ctx, mcp.MethodCallTool, map[string]string{"name": "count"})
		},
		"allows": func(ctx context.Context) error {
			return s.Allows(ctx, mcp.MethodReadResource, policy.Resource, "test:///b")
		},
	} {
		if err := try(editor); !errors.Is(err, host.ErrDenied) {
			t.Errorf("%s: %v", name, err)
		}
		if err := try(t.Context()); !errors.Is(err, host.ErrDenied) {
			t.Errorf("%s, without a caller in the context: %v", name, err)
		}
	}
	if _, err := s.CallTool(editor, "log", nil); err == nil || !strings.Contains(err.Error(), `access.editors: deny "*/LOG"`) {
		t.Errorf("the error does not name the rule: %v", err)
	}
	var raw struct{ Tools []mcp.Tool }
	if err := s.Call(editor, mcp.MethodListTools, nil, &raw); err != nil || len(raw.Tools) > 1 {
		t.Errorf("as a request it lists %v, %v", raw.Tools, err)
	}
	if _, err := s.ListTools(t.Context()); !errors.Is(err, host.ErrDenied) {
		t.Errorf("a client that may call nothing lists tools: %v", err)
	}
	if known := s.Known(); len(known.Tools.Items) != 0 {
		t.Errorf("it knows %v", known.Tools.Items)
	}
}
