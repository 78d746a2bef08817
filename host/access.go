package host

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// Scope returns how much of a server a caller may call, by [Config.Deciders]. The entry of the server may
// forbid more.
func (h *Host) Scope(c *policy.Caller, server string) policy.Scope {
	scope := policy.Everything
	for _, d := range h.config.Deciders {
		scope = min(scope, d.Scope(c, server))
	}
	return scope
}

// NeedsCaller reports whether it matters who calls, see [policy.WithCaller]: there are [Config.Deciders], or
// there is a [Config.Audit].
func (h *Host) NeedsCaller() bool { return len(h.config.Deciders) > 0 || h.config.Audit != nil }

// Decide returns what the entry of a server and [Config.Deciders] say of a call: the first denial, or else
// what the first decider says. It needs no host, and starts no server.
func Decide(ctx context.Context, entry *Server, deciders []policy.Decider, c *policy.Call) policy.Decision {
	if c.Target == policy.Tool {
		if err := permits(entry, c.Name); err != nil {
			return policy.Decision{Rule: err.Error()}
		}
	}
	return decide(ctx, deciders, c)
}

func decide(ctx context.Context, deciders []policy.Decider, c *policy.Call) policy.Decision {
	d := policy.Decision{Allow: true}
	for i, decider := range deciders {
		switch said := decider.Decide(ctx, c); {
		case !said.Allow:
			return said
		case i == 0:
			d = said
		}
	}
	return d
}

// query is a request of a caller, on its way through [Session.repeat].
type query struct {
	view
	method string
	about  subject         // what it is about, unless params are given
	filter *mcp.Filter     // what it is about too
	params json.RawMessage // of a request of any method
	raw    bool            // params are given

	arguments any  // of a call, unless params are given
	harmless  bool // it may be made once more
	admitted  bool // its caller may make it
}

// ask returns a request of the caller of a context, about something that the server calls name.
func (s *Session) ask(ctx context.Context, method, name string) query {
	about := subject{name: name}
	if n, found := named[method]; found {
		about.target, about.task = n.target, n.task
	}
	return query{view: s.view(ctx), method: method, about: about}
}

// admit returns an error if the caller may not make the request.
func (q *query) admit(ctx context.Context) error {
	switch {
	case q.raw:
		return q.admitText(ctx, q.method, q.params)
	case q.filter != nil:
		return q.view.admit(ctx, q.method, nil, inFilter(q.filter)...)
	case plain[q.method]:
		return q.view.admit(ctx, q.method, nil)
	}
	return q.view.admit(ctx, q.method, nil, q.about)
}

// view is a server as a caller may see it.
type view struct {
	host   *Host
	entry  *Server
	caller *policy.Caller // nil if it does not matter
	scope  policy.Scope
	said   policy.Decision // the last that was made
}

// view returns the server as the caller of a context may see it.
func (s *Session) view(ctx context.Context) view {
	v := view{host: s.host, entry: s.entry.Load(), scope: policy.Everything}
	if v.host.NeedsCaller() {
		if v.caller = policy.CallerOf(ctx); v.caller == nil {
			v.caller = &s.caller
		}
		v.scope = v.host.Scope(v.caller, v.entry.Name)
	}
	return v
}

// subject is what a request is about.
type subject struct {
	target policy.Target
	name   string
	task   bool // name is the id of a task
}

// plain are the methods that are about nothing in particular. What they list is filtered.
var plain = map[string]bool{
	mcp.MethodDiscover: true, mcp.MethodPing: true, mcp.MethodListTools: true, mcp.MethodListPrompts: true, mcp.MethodListResources: true,
	mcp.MethodListTemplates: true, mcp.MethodSetLevel: true, mcp.MethodListTasks: true,
}

// admit returns an error if the caller may not make a request about these subjects. arguments are its
// params, or nil.
func (v *view) admit(ctx context.Context, method string, arguments json.RawMessage, about ...subject) error {
	for i := range about {
		if about[i].target == policy.Tool && !about[i].task {
			if err := permits(v.entry, about[i].name); err != nil {
				v.said = policy.Decision{Rule: err.Error()}
				return err
			}
		}
	}
	switch v.scope {
	case policy.Everything:
		return nil
	case policy.Nothing:
		return v.refuse(method, "anything of it", policy.Decision{})
	}
	for i := range about {
		if err := v.decide(ctx, method, arguments, about[i]); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) decide(ctx context.Context, method string, arguments json.RawMessage, about subject) error {
	if about.task {
		if v.ownsTask(about.name) {
			return nil
		}
		return v.refuse(method, "a task that it has not begun", policy.Decision{})
	}
	call := policy.Call{Caller: v.caller, Server: v.entry.Name, Method: method, Target: about.target, Name: about.name, Arguments: arguments}
	if v.said = decide(ctx, v.host.config.Deciders, &call); !v.said.Allow {
		return v.refuse(method, fmt.Sprintf("%q", call.String()), v.said)
	}
	return nil
}

// refuse returns the error of a request that is denied. It tells the rule to the user who runs the program
// alone.
func (v *view) refuse(method, what string, d policy.Decision) error {
	why := ""
	if v.caller.Principal == "" && d.Rule != "" {
		why = ": " + d.Rule
	}
	if why != "" && d.Reason != "" {
		why += "; " + d.Reason
	}
	return hosterr.Errorf(ErrDenied, "`wharf acl check` says which rule decides", "%s on %s: %s may not call %s%s", method, v.entry.Name, v.caller, what, why)
}

// Allows returns nil if the caller of a context may call something of the server, and otherwise an
// [ErrDenied].
func (s *Session) Allows(ctx context.Context, method string, target policy.Target, name string) error {
	v := s.view(ctx)
	return v.admit(ctx, method, nil, subject{target: target, name: name})
}
