package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/audit"
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
		confirm    func(context.Context, policy.Question) (bool, error)
		want, kept string
	}{
		"no person is there": {nil, "a person is to be asked, and none can be here", "none"},
		"no":                 {func(context.Context, policy.Question) (bool, error) { return false, nil }, "the person who was asked said no", "no"},
		"an error":           {func(context.Context, policy.Question) (bool, error) { return true, errors.New("it left") }, "was not: it left", "none"},
		"yes": {func(_ context.Context, q policy.Question) (bool, error) {
			if q.Name != "log" || q.Reason != "it costs money" || !strings.Contains(q.String(), "surface/log") {
				t.Errorf("asked %q", q.String())
			}
			return true, nil
		}, "", "yes"},
	} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		log, err := audit.Open(path, audit.Options{})
		if err != nil {
			t.Fatal(err)
		}
		h := newHost(t, host.Config{
			Audit:    log,
			Files:    map[string]config.Plugin{"asks": {Name: "asks", File: file}},
			Policies: []config.Policy{{Name: "costs", Plugin: "asks"}}, Confirm: tt.confirm,
		})
		s, err := h.Add(server("surface"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.CallTool(t.Context(), "log", nil)
		if denied := errors.Is(err, host.ErrDenied); denied != (tt.want != "") || denied && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		if hint := host.Hint(err); strings.HasPrefix(hint, "make the call in a terminal, or ") != (tt.kept == "none") {
			t.Errorf("%s: hint %q", name, hint)
		}
		if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), `"rule":"policy.costs","person":"`+tt.kept+`"`) {
			t.Errorf("%s: the audit log has %s, %v", name, text, err)
		}
	}
}

// speaking returns the file of a policy that says the same with each call. One that counts says the count as the
// digit that its reply has first.
func speaking(t *testing.T, m speaker.Module, counts bool) string {
	t.Helper()
	m.Describe, m.Call, m.Exit, m.Manifest = "wharf_policy_describe", "wharf_policy_decide", -1, `{"abi":"wharf-policy-0","name":"kit","version":"1"}`
	if counts {
		m = m.Counting()
	}
	file := filepath.Join(t.TempDir(), "kit.wasm")
	if err := os.WriteFile(file, m.Binary(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A policy whose file is missing, or is another than the one that is trusted, says what to type.
func TestHintOfAPolicyThatIsNotThere(t *testing.T) {
	file := speaking(t, speaker.Module{Reply: `{"id":0,"verdict":"allow"}`}, false)
	for hint, p := range map[string]config.Plugin{
		"[plugins.kit]\nfile = ":   {Name: "kit", File: file + ".not"},
		"[plugins.kit]\nsha256 = ": {Name: "kit", File: file, SHA256: strings.Repeat("0", 64)},
	} {
		h := newHost(t, host.Config{Files: map[string]config.Plugin{"kit": p}, Policies: []config.Policy{{Name: "strict", Plugin: "kit"}}})
		s, err := h.Add(server("surface"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.CallTool(t.Context(), "log", nil); !strings.Contains(host.Hint(err), hint) {
			t.Errorf("%v, its hint %q, want %q", err, host.Hint(err), hint)
		}
	}
}

// Whatever a policy does instead of allowing, nothing goes past it: no request of any method, however it is
// made. The error names the policy and says why.
func TestNothingGoesPastAPolicy(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		module speaker.Module
		want   string
		counts bool // to nine
		listed int
	}{
		"denies":          {speaker.Module{Reply: `{"id":0,"verdict":"deny","reason":"not today"}`}, "policy.strict; not today", true, 0},
		"asks":            {speaker.Module{Reply: `{"id":0,"verdict":"ask"}`}, "policy.strict; a person is to be asked, and none can be here", true, 3},
		"traps":           {speaker.Module{Raw: []byte{0x00, 0x0b}}, "policy.strict; the policy plugin kit gave no verdict: it gave up", false, 0},
		"answers rubbish": {speaker.Module{Reply: `allow`}, "policy.strict; the policy plugin kit gave no verdict: its verdict is not of the contract", false, 0},
	} {
		h := newHost(t, host.Config{
			Files:    map[string]config.Plugin{"kit": {Name: "kit", File: speaking(t, tt.module, tt.counts)}},
			Policies: []config.Policy{{Name: "strict", Plugin: "kit"}},
		})
		s, err := h.Add(server("surface"))
		if err != nil {
			t.Fatal(err)
		}
		if tools, err := s.ListTools(t.Context()); err != nil || len(tools) != tt.listed {
			t.Errorf("a policy that %s: tools %v, %v", name, tools, err)
		}
		tries := map[string]func(ctx context.Context) error{
			"tool":     func(ctx context.Context) error { _, err := s.CallTool(ctx, "log", nil); return err },
			"task":     func(ctx context.Context) error { _, err := s.BeginTask(ctx, "log", nil, 0); return err },
			"resource": func(ctx context.Context) error { _, err := s.ReadResource(ctx, noteURI); return err },
			"prompt":   func(ctx context.Context) error { _, err := s.GetPrompt(ctx, "greet", nil); return err },
			"subscription": func(ctx context.Context) error {
				_, err := s.Subscribe(ctx, mcp.Filter{URIs: []string{noteURI}})
				return err
			},
			"completion": func(ctx context.Context) error {
				_, err := s.Complete(ctx, mcp.CompleteParams{Ref: mcp.PromptRef("greet"), Argument: mcp.Argument{Name: "who"}})
				return err
			},
		}
		for method, params := range map[string]string{
			mcp.MethodCallTool: `{"name":"log"}`, mcp.MethodReadResource: `{"uri":"test:///note"}`, mcp.MethodGetPrompt: `{"name":"greet","arguments":{"who":"x"}}`,
			mcp.MethodSubscribe: `{"uri":"test:///note"}`, mcp.MethodComplete: `{"ref":{"type":"ref/resource","uri":"test:///{name}"},"argument":{"name":"name","value":""}}`,
			mcp.MethodListen: `{"notifications":{"resourceSubscriptions":["test:///note"]}}`, "x/y": `{}`,
		} {
			if tt.counts {
				break
			}
			tries["raw "+method] = func(ctx context.Context) error { return s.Call(ctx, method, json.RawMessage(params), nil) }
			tries["relayed "+method] = func(ctx context.Context) error {
				_, err := s.Relay(ctx, host.Relay{Method: method, Params: json.RawMessage(params)})
				return err
			}
			// The second round of a request whose server has asked for input.
			tries["resumed "+method] = func(ctx context.Context) error {
				more := strings.TrimSuffix(params, "}") + `,"requestState":"x","inputResponses":{}}`
				_, err := s.Relay(ctx, host.Relay{Method: method, Params: json.RawMessage(strings.Replace(more, "{,", "{", 1))})
				return err
			}
		}
		for door, try := range tries {
			if err := try(t.Context()); !errors.Is(err, host.ErrDenied) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("a policy that %s: %s: %v, want %q", name, door, err, tt.want)
			}
		}
	}
}

// A policy that is shown arguments sees those of a completion too, and none goes past it that is too large
// to be shown. One whose table does not grant them, although it decides by them, denies.
func TestWhatPoliciesAreShown(t *testing.T) {
	t.Parallel()
	file, err := filepath.Abs("../examples/policy-paths-c/paths.wasm")
	if err != nil {
		t.Fatal(err)
	}
	with := func(granted bool) *host.Session {
		h := newHost(t, host.Config{
			Files:    map[string]config.Plugin{"paths": {Name: "paths", File: file}},
			Policies: []config.Policy{{Name: "notes", Plugin: "paths", Arguments: granted, Settings: map[string]any{"folder": "/srv/notes"}}},
		})
		s, err := h.Add(server("surface"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := with(true)
	for value, want := range map[string]string{"/srv/notes/a": "", "/etc/pass": "/etc/pass is not a whole path"} {
		_, err := s.Complete(t.Context(), mcp.CompleteParams{Ref: mcp.PromptRef("greet"), Argument: mcp.Argument{Name: "who", Value: value}})
		if errors.Is(err, host.ErrDenied) != (want != "") || want != "" && !strings.Contains(err.Error(), want) {
			t.Errorf("a completion of %s: %v", value, err)
		}
	}
	for want, arguments := range map[string]any{
		"a policy is shown 1048576 at most": map[string]string{"x": strings.Repeat("x", 10<<20)},
		"the params have the name":          nil,
		"the arguments: nested too deeply":  json.RawMessage(strings.Repeat("[", 1000) + strings.Repeat("]", 1000)),
	} {
		params := json.RawMessage(`{"name":"log","Arguments":{"path":"/etc"}}`)
		if arguments != nil {
			_, err = s.CallTool(t.Context(), "log", arguments)
		} else {
			err = s.Call(t.Context(), mcp.MethodCallTool, params, nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := with(false).CallTool(t.Context(), "log", nil); !errors.Is(err, host.ErrDenied) || !strings.Contains(err.Error(), "policy.notes; the plugin paths decides by the arguments of calls, and arguments = true is missing") {
		t.Errorf("arguments that are not granted: %v", err)
	}
}

// A new file of a policy decides from the next call on.
func TestPolicyIsReplaced(t *testing.T) {
	t.Parallel()
	file := speaking(t, speaker.Module{Reply: `{"id":0,"verdict":"allow"}`}, true)
	h := newHost(t, host.Config{
		Files: map[string]config.Plugin{"kit": {Name: "kit", File: file}}, Policies: []config.Policy{{Name: "strict", Plugin: "kit"}},
	})
	s, err := h.Add(server("surface"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadResource(t.Context(), noteURI); err != nil {
		t.Error(err)
	}
	other := speaking(t, speaker.Module{Reply: `{"id":2,"verdict":"deny","reason":"not any more"}`}, false)
	if err := os.Rename(other, file); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ReadResource(t.Context(), noteURI); !errors.Is(err, host.ErrDenied) || !strings.Contains(err.Error(), "not any more") {
		t.Errorf("the file was replaced: %v", err)
	}
}

// What policies say of a call can be foreseen, but for those that decide by its arguments. No server is started.
func TestForesee(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Abs("../examples/policy-paths-c/paths.wasm")
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, host.Config{
		Files: map[string]config.Plugin{
			"paths": {Name: "paths", File: paths}, "asks": {Name: "asks", File: speaking(t, speaker.Module{Reply: `{"id":0,"verdict":"ask","reason":"why"}`}, true)},
			"traps": {Name: "traps", File: speaking(t, speaker.Module{Raw: []byte{0x00, 0x0b}}, false)},
		},
		Policies: []config.Policy{
			{Name: "elsewhere", Plugin: "traps", Servers: []string{"other"}},
			{Name: "notes", Plugin: "paths", Arguments: true, Settings: map[string]any{"folder": "/srv/notes"}},
			{Name: "wrong", Plugin: "paths", Arguments: true},
			{Name: "costs", Plugin: "asks"},
			{Name: "traps", Plugin: "traps"},
		},
		Confirm: func(context.Context, policy.Question) (bool, error) { t.Error("a person is asked"); return true, nil },
	})
	s, err := h.Add(host.Server{Name: "files", Command: "/nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	got := s.Foresee(t.Context(), policy.Call{Caller: &policy.Caller{Kind: policy.Bridge}, Server: "files", Target: policy.Tool, Name: "read"})
	var said []string
	for _, f := range got {
		said = append(said, fmt.Sprintf("%s: %v %v %v %s", f.Policy, f.ByArguments, f.Allow, f.Ask, f.Reason))
	}
	want := []string{
		"policy.notes: true false false ",
		"policy.wrong: false false false settings.folder is missing: the folder: a whole path",
		"policy.costs: false false true why (its annotations are not known: the tools of files were not listed yet)",
		"policy.traps: false false false the policy plugin traps gave no verdict: it gave up, or used up its budget for one call",
	}
	if !slices.Equal(said, want) {
		t.Errorf("foreseen:\n%s", strings.Join(said, "\n"))
	}
}
