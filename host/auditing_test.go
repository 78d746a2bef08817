package host_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/audit"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// S12: each call has a line, however it is made and however it ends; lists have none.
func TestS12Audit(t *testing.T) {
	t.Parallel()
	rules, err := policy.New([]policy.Table{{Name: "a", Match: []string{"*"}, Deny: []string{"sdk/den*", "resource:sdk/test:///no"}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := audit.Open(path, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := newHost(t, host.Config{Audit: log, Deciders: []policy.Decider{rules}, Client: host.Client{Caller: policy.Caller{Kind: policy.Command}}})
	s := connect(t, h, server("sdk"))
	ctx := policy.WithCaller(t.Context(), &policy.Caller{Kind: policy.Gateway, Name: "pet", Peer: "::1", Era: "modern"})
	listed(t, s)
	s.Ping(ctx)
	s.CallTool(ctx, "echo", map[string]string{"message": "secret"})
	s.CallTool(t.Context(), "fail", nil)
	s.CallTool(ctx, "denied", nil)
	s.Relay(ctx, host.Relay{Method: mcp.MethodCallTool, Params: json.RawMessage(`{"_meta":{"traceparent":"00-1-2-01"},"name":"fail","arguments":{"message":"secret"}}`)})
	s.Call(ctx, mcp.MethodCallTool, map[string]any{"name": "echo", "arguments": map[string]string{"message": "secret"}}, nil)
	s.Call(ctx, "x/y", nil, nil)
	s.ReadResource(ctx, "test:///a")
	s.CallTool(ctx, "echo", map[string]int{"message": 1})                               // which does not fit its schema
	s.Subscribe(ctx, mcp.Filter{Tools: true, URIs: []string{"test:///b", "test:///c"}}) // of which the server tells only of its tools
	s.Subscribe(ctx, mcp.Filter{URIs: []string{"test:///b", "test:///no", "test:///c"}})
	h.Denied(&policy.Caller{Principal: "ci"}, "sdk", mcp.MethodCallTool, json.RawMessage(`{"name":"echo","arguments":{}}`))
	type line struct {
		who, method, name, decision, rule, trace, sent string
		ok, isError, coded                             bool
		args                                           int
	}
	var got []line
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for l, err := range audit.Read(f) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(l.Raw), "secret") {
			t.Errorf("it keeps arguments: %s", l.Raw)
		}
		got = append(got, line{
			l.Caller.Name + l.Caller.Principal, l.Method, l.Name, map[bool]string{true: "allow", false: "deny"}[l.Allowed], l.Rule, l.Trace, l.Sent, l.OK, l.IsError, l.Code != 0, l.ArgsBytes,
		})
	}
	const byDefault, rule, call = "default: the user who runs wharf may call everything", `access.a: deny "sdk/den*"`, mcp.MethodCallTool
	want := []line{
		{"pet", call, "echo", "allow", byDefault, "", "", true, false, false, len(`{"message":"secret"}`)},
		{"", call, "fail", "allow", byDefault, "", "", true, true, false, 0},
		{"pet", call, "denied", "deny", rule, "", "", false, false, false, 0},
		{"pet", call, "fail", "allow", byDefault, "00-1-2-01", "", true, true, false, len(`{"message":"secret"}`)},
		{"pet", call, "echo", "allow", byDefault, "", "", true, false, false, len(`{"message":"secret"}`)},
		{"pet", "x/y", "", "allow", byDefault, "", "", false, false, true, 0},
		{"pet", mcp.MethodReadResource, "test:///a", "allow", byDefault, "", "no", false, false, false, 0},
		{"pet", call, "echo", "allow", byDefault, "", "no", false, false, false, len(`{"message":1}`)},
		{"pet", mcp.MethodSubscribe, "test:///b", "allow", byDefault, "", "", false, false, false, 0},
		{"pet", mcp.MethodSubscribe, "test:///c", "allow", byDefault, "", "", false, false, false, 0},
		{"pet", mcp.MethodSubscribe, "test:///no", "deny", `access.a: deny "resource:sdk/test:///no"`, "", "", false, false, false, 0},
		{"ci", call, "echo", "deny", "default: a principal that no access names may call nothing", "", "", false, false, false, 2},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got")
		for _, l := range got {
			t.Logf("%+v", l)
		}
	}
}

// A call that its caller has left may have been carried out, and its line says so.
func TestAuditOfACallThatIsLeft(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := audit.Open(path, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := connect(t, newHost(t, host.Config{Audit: log}), server("patient"))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	s.CallTool(host.WithOptions(ctx, host.RequestOptions{Progress: func(mcp.Progress) { leave() }}), "wait", nil)
	if text, err := os.ReadFile(path); err != nil || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), `"name":"wait"`) || !strings.Contains(string(text), `"sent":"maybe"`) {
		t.Errorf("the audit log has %s, %v", text, err)
	}
}

// A log that is required and cannot be written to stops calls, and any other is warned of once.
func TestAuditFails(t *testing.T) {
	t.Parallel()
	for _, required := range []bool{true, false} {
		path := filepath.Join(t.TempDir(), "audit.jsonl")
		log, err := audit.Open(path, audit.Options{Required: required})
		if err != nil {
			t.Fatal(err)
		}
		warned := make(chan string, 10)
		h := newHost(t, host.Config{Audit: log, Event: func(e host.Event) { warned <- e.Warning }})
		s := connect(t, h, server("sdk"))
		os.Remove(path)
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			_, err := s.CallTool(t.Context(), "echo", map[string]string{"message": "x"})
			if stopped := required && i > 0; (err != nil) != stopped {
				t.Errorf("required %v: call %d: %v", required, i, err)
			}
		}
		if text := <-warned; !strings.Contains(text, "calls are not in the audit log") || len(warned) > 0 {
			t.Errorf("warned %q, and %d more", text, len(warned))
		}
	}
}
