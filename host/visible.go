package host

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// listed says what a list has: the member of the result, and the member by which its elements are named.
type listed struct {
	member, name string
	target       policy.Target
	task         bool
}

var lists = map[string]listed{
	mcp.MethodListTools:     {string(catalogue.Tools), "name", policy.Tool, false},
	mcp.MethodListPrompts:   {string(catalogue.Prompts), "name", policy.Prompt, false},
	mcp.MethodListResources: {string(catalogue.Resources), "uri", policy.Resource, false},
	mcp.MethodListTemplates: {string(catalogue.Templates), "uriTemplate", policy.Resource, false},
	mcp.MethodListTasks:     {"tasks", "taskId", policy.Tool, true},
}

// hides reports whether the caller may not see some of what a method lists.
func (v *view) hides(method string) bool {
	_, list := lists[method]
	return list && v.scope != policy.Everything || method == mcp.MethodListTools && filters(v.entry)
}

// shows reports whether the caller may see something in a list.
func (v *view) shows(ctx context.Context, about subject) bool {
	switch {
	case about.task:
		return v.scope != policy.Some || v.ownsTask(about.name)
	case about.target == policy.Tool && !v.entry.Permits(about.name):
		return false
	case v.scope == policy.Some:
		call := policy.Call{Caller: v.caller, Server: v.entry.Name, Target: about.target, Name: about.name, Listed: true}
		if about.annotations != nil {
			call.Annotations = func(context.Context) (json.RawMessage, error) { return about.annotations, nil }
		}
		d := decide(ctx, v.host.deciders, &call)
		return d.Allow || d.Ask
	}
	return v.scope == policy.Everything
}

// shown returns the elements of a list that the caller may see. of returns what an element is about.
func shown[T any](ctx context.Context, v *view, method string, items []T, of func(*T) subject) []T {
	if !v.hides(method) {
		return items
	}
	return slices.DeleteFunc(slices.Clone(items), func(item T) bool { return !v.shows(ctx, of(&item)) })
}

func ofTool(t *mcp.Tool) subject {
	about := subject{target: policy.Tool, name: t.Name}
	about.annotate(t.Annotations)
	return about
}

// annotate notes what the server says of a tool.
func (s *subject) annotate(a *mcp.ToolAnnotations) {
	if a != nil {
		s.annotations, _ = json.Marshal(a) // it has only texts and flags
	}
}
func ofPrompt(p *mcp.Prompt) subject     { return subject{target: policy.Prompt, name: p.Name} }
func ofResource(r *mcp.Resource) subject { return subject{target: policy.Resource, name: r.URI} }
func ofTask(t *mcp.Task) subject         { return subject{target: policy.Tool, name: t.ID, task: true} }
func ofTemplate(t *mcp.ResourceTemplate) subject {
	return subject{target: policy.Resource, name: t.URITemplate}
}

// shownResult returns the result of a method without the elements that the caller may not see. The rest
// stays byte for byte.
func (v *view) shownResult(ctx context.Context, method string, result json.RawMessage) json.RawMessage {
	if !v.hides(method) {
		return result
	}
	l := lists[method]
	var out []byte
	end := 0
	r := strictjson.Read(result).Unbounded()
	for name := range r.Object() {
		if at := r.Offset(); string(name) == l.member && r.Kind() == '[' {
			out = append(out, result[end:at]...)
			out = append(out, v.shownItems(ctx, l, r.Raw())...)
			end = r.Offset()
		}
	}
	return append(out, result[end:]...)
}

// shownItems returns an array without the elements that the caller may not see.
func (v *view) shownItems(ctx context.Context, l listed, items json.RawMessage) json.RawMessage {
	out, all := []byte{'['}, true
	r := strictjson.Read(items).Unbounded()
	for range r.Array() {
		item := r.Raw()
		switch {
		case !v.showsItem(ctx, l, item):
			all = false
			continue
		case len(out) > 1:
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	if all {
		return items
	}
	return append(out, ']')
}

// showsItem reports whether the caller may see an element that a server lists, by each name that it has.
func (v *view) showsItem(ctx context.Context, l listed, item []byte) bool {
	var names []string
	var about subject
	r := strictjson.Read(item)
	for key := range r.Object() {
		switch string(key) {
		case l.name:
			names = append(names, r.String())
		case "annotations":
			var a *mcp.ToolAnnotations
			if raw := r.Raw(); l.target == policy.Tool && json.Unmarshal(raw, &a) == nil {
				about.annotate(a)
			}
		}
	}
	about.target, about.task = l.target, l.task
	may := len(names) > 0 && r.Err() == nil
	for _, name := range names {
		about.name = name
		may = may && v.shows(ctx, about)
	}
	return may
}

// Shown returns the elements of a list that a caller may see, by [Config.Deciders]: an array of a kind, as
// the server wrote it.
func (h *Host) Shown(c *policy.Caller, server string, kind catalogue.Kind, items json.RawMessage) json.RawMessage {
	v := view{host: h, entry: &Server{Name: server}, caller: c, scope: h.Scope(c, server)}
	for method, l := range lists {
		if l.member == string(kind) && v.hides(method) {
			return v.shownItems(context.Background(), l, items)
		}
	}
	return items
}
