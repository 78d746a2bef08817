package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// reads reports whether the params of a request have to be read before it may be sent. A server may take a method
// for tools/call that is nearly that.
func (v *view) reads(method string) bool {
	return v.scope != policy.Everything || filters(v.entry) && lax(method) == mcp.MethodCallTool
}

// lax returns a method as a server may read it.
func lax(method string) string { return strings.ToLower(strings.TrimSpace(method)) }

// admitText returns an error if the caller may not make a request with these params. It also refuses
// params that a server could read in two ways.
func (v *view) admitText(ctx context.Context, method string, params json.RawMessage) error {
	if !v.reads(method) {
		return nil
	}
	if params != nil {
		if err := strictjson.Valid(params, 0); err != nil {
			return fmt.Errorf("params: %w", err)
		}
	}
	about, err := v.subjects(method, params)
	if err != nil {
		return err
	}
	return v.admit(ctx, method, params, about...)
}

// named says which member of the params of a method names what the request is about.
var named = map[string]struct {
	member string
	target policy.Target
	task   bool
}{
	mcp.MethodCallTool:     {"name", policy.Tool, false},
	mcp.MethodGetPrompt:    {"name", policy.Prompt, false},
	mcp.MethodReadResource: {"uri", policy.Resource, false},
	mcp.MethodSubscribe:    {"uri", policy.Resource, false},
	mcp.MethodUnsubscribe:  {"uri", policy.Resource, false},
	mcp.MethodGetTask:      {"taskId", policy.Tool, true},
	mcp.MethodCancelTask:   {"taskId", policy.Tool, true},
	mcp.MethodTaskResult:   {"taskId", policy.Tool, true},
	mcp.MethodUpdateTask:   {"taskId", policy.Tool, true},
}

// subjects returns what a request with valid params is about.
func (v *view) subjects(method string, params json.RawMessage) (about []subject, err error) {
	if n, found := named[method]; found {
		name, err := v.sole(method, params, n.member)
		return []subject{{target: n.target, name: unquoted(name), task: n.task}}, err
	}
	switch method {
	case mcp.MethodComplete:
		return v.completed(method, params)
	case mcp.MethodListen:
		return v.listened(method, params)
	}
	if plain[method] {
		return nil, nil
	}
	for known := range named {
		if lax(method) == strings.ToLower(known) {
			return nil, v.ambiguous(method, "the method is nearly "+known)
		}
	}
	return []subject{{target: policy.Other, name: method}}, nil
}

// completed returns what a request for completions is about: whatever its ref could name.
func (v *view) completed(method string, params json.RawMessage) (about []subject, err error) {
	ref, err := v.sole(method, params, "ref")
	if err != nil {
		return nil, err
	}
	for member, target := range map[string]policy.Target{"name": policy.Prompt, "uri": policy.Resource} {
		name, err := v.sole(method, ref, member)
		if err != nil {
			return nil, err
		}
		if name != nil {
			about = append(about, subject{target: target, name: unquoted(name)})
		}
	}
	if about == nil {
		about = []subject{{target: policy.Other, name: method}}
	}
	return about, nil
}

// listened returns what a request for a stream of changes is about: its resources and tasks.
func (v *view) listened(method string, params json.RawMessage) (about []subject, err error) {
	wanted, err := v.sole(method, params, "notifications")
	if err != nil {
		return nil, err
	}
	for _, member := range []string{"resourceSubscriptions", "taskIds"} {
		if _, err := v.sole(method, wanted, member); err != nil {
			return nil, err
		}
	}
	var f mcp.Filter
	if wanted != nil {
		if err := json.Unmarshal(wanted, &f); err != nil {
			return nil, fmt.Errorf("params: %w", err)
		}
	}
	return inFilter(&f), nil
}

// inFilter returns the resources and the tasks that a filter names.
func inFilter(f *mcp.Filter) (about []subject) {
	for _, uri := range f.URIs {
		about = append(about, subject{target: policy.Resource, name: uri})
	}
	for _, id := range f.Tasks {
		about = append(about, subject{target: policy.Tool, name: id, task: true})
	}
	return about
}

// sole returns the value of a member of an object, or nil if there is none. It is an error if the object
// has the member twice, or another one that many decoders would take for it, since they ignore case.
func (v *view) sole(method string, object json.RawMessage, member string) (value json.RawMessage, err error) {
	r := strictjson.Read(object)
	for key := range r.Object() {
		switch {
		case string(key) == member && value == nil:
			value = r.Raw()
		case strings.EqualFold(string(key), member):
			return nil, v.ambiguous(method, fmt.Sprintf("the params have a second %q, which the server may read as the %s", key, member))
		}
	}
	if err := r.Err(); object != nil && err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	return value, nil
}

func (v *view) ambiguous(method, why string) error {
	return hosterr.Errorf(ErrDenied, "write each name once, and as the protocol spells it", "%s on %s: %s", method, v.entry.Name, why)
}

// unquoted returns the text of a JSON string, or "" for another value.
func unquoted(value json.RawMessage) string {
	if len(value) == 0 || value[0] != '"' {
		return ""
	}
	return string(strictjson.Unquote(value))
}

// textIn returns the text that is a member of an object, or "" if the object has no such text.
func textIn(object json.RawMessage, member string) (text string) {
	r := strictjson.Read(object)
	if r.Kind() != '{' {
		return ""
	}
	for key := range r.Object() {
		if string(key) == member {
			text = unquoted(r.Raw())
		}
	}
	return text
}

// admitNotification refuses a notification that calls something. No revision of the protocol has calls
// without an answer, but some servers run them.
func (v *view) admitNotification(method string) error {
	calls := method == mcp.MethodCallTool && filters(v.entry) || v.scope != policy.Everything && !strings.HasPrefix(method, "notifications/")
	switch {
	case calls:
		return hosterr.Errorf(ErrDenied, "call a tool with a request", "notify %s of %s: its entry, or an access, names what may be called", v.entry.Name, method)
	case v.scope == policy.Nothing:
		return v.refuse(method, "anything of it", "", policy.Decision{})
	}
	return nil
}
