package host

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// Nothing can be called that is not listed, however a request is written: whatever name a server may read
// in params that are let through, a list that has the name shows it to the caller.
func FuzzListedOrDenied(f *testing.F) {
	for _, params := range []string{
		`{"name":"echo"}`, `{"name":"delete_it","Name":"echo"}`, `{"name":"echo","name":"delete_it"}`, `{"name":"delete\u005fit"}`,
		`{"uri":"file:///pub/../etc","URI":"x"}`, `{"ref":{"type":"ref/prompt","name":"a","uri":"file:///etc"}}`, `{"n\u0061me":"delete_it"}`,
		`{"ref":{"type":"ref/prompt","Name":"delete_it"}}`, `{"Ref":{}}`, `[]`, `{"name":7}`, `{"taskId":"t"}`,
	} {
		for _, method := range []string{mcp.MethodCallTool, mcp.MethodGetPrompt, mcp.MethodReadResource, mcp.MethodSubscribe, mcp.MethodComplete, "Tools/Call", "x/y"} {
			f.Add("*/echo prompt:*/a* resource:*/file:///pub/*", "*/delete_* resource:*/*secret*", method, params)
		}
	}
	for _, method := range []string{mcp.MethodCallTool, "Tools/Call", " tools/call"} { // the entry alone forbids it
		f.Add("*", "", method, `{"name":"never_this"}`)
		f.Add("*", "", method, `{"name":"echo","Name":"never_this"}`)
	}
	f.Fuzz(func(t *testing.T, allow, deny, method, params string) {
		rules, err := policy.New([]policy.Table{{Match: []string{"*"}, Allow: strings.Fields(allow), Deny: strings.Fields(deny)}})
		if err != nil {
			return
		}
		caller := &policy.Caller{Kind: policy.Gateway, Principal: "ci"}
		h := &Host{config: Config{Deciders: []policy.Decider{rules}}}
		v := view{host: h, entry: &Server{Name: "files", DisabledTools: []string{"never*"}}, caller: caller, scope: h.Scope(caller, "files")}
		if v.admitText(t.Context(), method, json.RawMessage(params)) != nil {
			return
		}
		for _, read := range readings(method, params) {
			item := json.RawMessage(strictjson.AppendString([]byte(`[{"`+lists[read.list].name+`":`), read.name))
			item = append(item, `}]`...)
			if got := v.shownItems(t.Context(), lists[read.list], item); string(got) != string(item) {
				t.Errorf("%s %s is let through, and %q is not listed", method, params, read.name)
			}
		}
	})
}

type reading struct{ list, name string }

// readings returns what a server may take a request to be about: it may ignore the case of methods and
// members, and take the first or the last of two.
func readings(method, params string) (all []reading) {
	var last struct {
		Name, URI any
		Ref       struct{ Name, URI any }
	}
	json.Unmarshal([]byte(params), &last)
	add := func(list string, name any) {
		if text, ok := name.(string); ok {
			all = append(all, reading{list, text})
		}
	}
	first := map[string]any{}
	r := strictjson.Read([]byte(params))
	for key := range r.Object() {
		key, raw := strings.ToLower(string(key)), r.Raw()
		if _, twice := first[key]; !twice {
			first[key] = unquoted(raw)
		}
	}
	switch strings.ToLower(strings.TrimSpace(method)) {
	case mcp.MethodCallTool:
		add(mcp.MethodListTools, last.Name)
		add(mcp.MethodListTools, first["name"])
	case mcp.MethodGetPrompt:
		add(mcp.MethodListPrompts, last.Name)
		add(mcp.MethodListPrompts, first["name"])
	case mcp.MethodReadResource, mcp.MethodSubscribe:
		add(mcp.MethodListResources, last.URI)
		add(mcp.MethodListResources, first["uri"])
	case mcp.MethodComplete:
		add(mcp.MethodListPrompts, last.Ref.Name)
		add(mcp.MethodListTemplates, last.Ref.URI)
	}
	return all
}

// Of the tasks of a principal, the newest are remembered as its own.
func TestOwnedTasksAreBounded(t *testing.T) {
	h := &Host{}
	v := view{host: h, entry: &Server{Name: "files"}, caller: &policy.Caller{Principal: "ci"}, scope: policy.Some}
	for i := range 3 * maxOwnedTasks {
		v.began(fmt.Sprint(i))
	}
	v.began(strings.Repeat("x", maxTaskID+1))
	if n := len(h.ownedTasks.ids["ci"]); n != maxOwnedTasks {
		t.Errorf("%d tasks are remembered", n)
	}
	other := v
	other.caller = &policy.Caller{Principal: "guest"}
	newest := fmt.Sprint(3*maxOwnedTasks - 1)
	if v.ownsTask("0") || !v.ownsTask(newest) || other.ownsTask(newest) {
		t.Error("a task belongs to another principal")
	}
}
