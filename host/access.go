package host

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/modules"
	"github.com/wharf-mcp/wharf/host/internal/policyplugin"
	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// deciders returns the deciders of a configuration: its own, and behind them its policies.
func deciders(c *Config, loaded *modules.Cache, warn func(text string)) ([]policy.Decider, error) {
	all := slices.Clone(c.Deciders)
	for _, p := range c.Policies {
		d, err := policyplugin.New(policyplugin.Config{
			Name: p.Name, Place: p.Place, Plugin: p.Plugin, Servers: p.Servers, Arguments: p.Arguments, Settings: p.Settings, Warn: warn,
			Load: func(ctx context.Context) (*policyplugin.Plugin, error) { return loaded.Policy(ctx, p.Plugin) },
		})
		if err != nil {
			return nil, fmt.Errorf("policy.%s: %w", p.Name, err)
		}
		all = append(all, d)
	}
	return all, nil
}

// Scope returns how much of a server a caller may call, by [Config.Deciders] and [Config.Policies]. The entry of the server may
// forbid more.
func (h *Host) Scope(c *policy.Caller, server string) policy.Scope {
	scope := policy.Everything
	for _, d := range h.deciders {
		scope = min(scope, d.Scope(c, server))
	}
	return scope
}

// nothingFor returns why a caller may call nothing of a server.
func (h *Host) nothingFor(c *policy.Caller, server string) policy.Decision {
	for _, d := range h.deciders {
		if d.Scope(c, server) == policy.Nothing {
			return d.Decide(context.Background(), &policy.Call{Caller: c, Server: server})
		}
	}
	return policy.Decision{}
}

// NeedsCaller reports whether it matters who calls, see [policy.WithCaller]: there are [Config.Deciders] or
// [Config.Policies], or there is a [Config.Audit].
func (h *Host) NeedsCaller() bool { return len(h.deciders) > 0 || h.config.Audit != nil }

// Confirms reports whether a call may wait for a person who is asked whether it goes on.
func (h *Host) Confirms() bool { return h.config.Confirm != nil && len(h.config.Policies) > 0 }

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

// decide returns the first denial, or else the first wish that a person is asked, or else what the first
// decider says.
func decide(ctx context.Context, deciders []policy.Decider, c *policy.Call) policy.Decision {
	d := policy.Decision{Allow: true}
	for i, decider := range deciders {
		switch said := decider.Decide(ctx, c); {
		case !said.Allow && !said.Ask:
			return said
		case i == 0 || said.Ask && !d.Ask:
			d = said
		}
	}
	return d
}

// query is a request of a caller, on its way through answer.
type query struct {
	view
	method string
	about  subject         // what it is about, unless params are given
	filter *mcp.Filter     // what it is about too
	params json.RawMessage // of a request of any method, or what policies see of them
	raw    bool            // params are given

	arguments any  // of a call, unless params are given
	once      bool // it is not made again
	quiet     bool // it is not watched
	admitted  bool // its caller may make it

	sentTo *Server // the entry when it was admitted
}

// ask makes q a request of the caller of a context, about something that the server calls name.
func (s *Session) ask(ctx context.Context, q *query, method, name string) {
	q.view, q.method, q.about.name = s.view(ctx), method, name
	if n, found := named[method]; found {
		q.about.target, q.about.task = n.target, n.task
	}
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
	return q.view.admit(ctx, q.method, q.params, q.about)
}

// showsPolicies reports whether policies may see what is sent.
func (q *query) showsPolicies() bool {
	return q.scope == policy.Some && len(q.host.config.Policies) > 0
}

// showArguments has policies see the arguments of a tool or a prompt. What is sent is then what they have seen.
func (q *query) showArguments() error {
	if !q.showsPolicies() || q.arguments == nil {
		return nil
	}
	text, err := json.Marshal(q.arguments)
	if err == nil {
		err = strictjson.Valid(text, 0)
	}
	if err != nil {
		return fmt.Errorf("%s on %s: the arguments: %w", q.method, q.entry.Name, err)
	}
	q.arguments, q.params = json.RawMessage(text), slices.Concat([]byte(`{"arguments":`), text, []byte("}"))
	return nil
}

// view is a server as a caller may see it.
type view struct {
	host    *Host
	session *Session // nil if only what is known counts
	entry   *Server
	caller  *policy.Caller // nil if it does not matter
	scope   policy.Scope
	said    policy.Decision // the last that was made
	decided string          // the name that it is about, of a resource or a task among several
	person  string          // what a person said who had to be asked, as [audit.Record] has it
}

// view returns the server as the caller of a context may see it.
func (s *Session) view(ctx context.Context) view {
	v := view{host: s.host, session: s, entry: s.entry.Load(), scope: policy.Everything}
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

	annotations json.RawMessage // of a tool, in a list
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
		v.said = v.host.nothingFor(v.caller, v.entry.Name)
		return v.refuse(method, "anything of it", "", v.said)
	}
	for i := range about {
		if err := v.decide(ctx, method, arguments, about[i]); err != nil {
			return err
		}
	}
	return nil
}

func (v *view) decide(ctx context.Context, method string, arguments json.RawMessage, about subject) error {
	v.decided = about.name
	if about.task {
		if v.ownsTask(about.name) {
			return nil
		}
		return v.refuse(method, "a task that it has not begun", "", policy.Decision{})
	}
	call := policy.Call{Caller: v.caller, Server: v.entry.Name, Method: method, Target: about.target, Name: about.name, Arguments: arguments}
	if s, entry := v.session, v.entry; about.target == policy.Tool && s != nil { // without v, which would then be allocated for each call
		call.Annotations = func(ctx context.Context) (json.RawMessage, error) { return s.annotations(ctx, entry, about.name) }
	}
	if v.said = decide(ctx, v.host.deciders, &call); v.said.Ask {
		v.said = v.confirm(ctx, &call, v.said)
	}
	if !v.said.Allow {
		return v.refuse(method, fmt.Sprintf("%q", call.String()), call.String(), v.said)
	}
	return nil
}

// annotations returns what the server says of a tool. If no list of tools is known that is up to date, it
// asks for it.
func (s *Session) annotations(ctx context.Context, entry *Server, tool string) (json.RawMessage, error) {
	if known, current := s.inner.Annotations(tool); current {
		return known, nil
	}
	var tools []mcp.Tool
	all := query{view: view{host: s.host, entry: entry, scope: policy.Everything}, method: mcp.MethodListTools}
	err := s.repeat(ctx, &all, func() (err error) {
		tools, err = s.inner.ListTools(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range tools {
		if tools[i].Name == tool {
			return ofTool(&tools[i]).annotations, nil
		}
	}
	return nil, nil
}

// Foreseen is what a policy says of a call that is not made.
type Foreseen struct {
	Policy      string // names its table: "policy.notes (wharf.toml:12)"
	ByArguments bool   // it decides by the arguments of each call, and was not asked
	policy.Decision
}

// methodOf are the methods by which targets are called.
var methodOf = map[policy.Target]string{policy.Tool: mcp.MethodCallTool, policy.Prompt: mcp.MethodGetPrompt, policy.Resource: mcp.MethodReadResource}

// Foresee asks those of [Config.Policies] that decide on the server about a call of its caller, without its arguments. It starts
// no server and asks no person: what the server says of a tool counts as far as it is known. [Decide] has what the rules say.
func (s *Session) Foresee(ctx context.Context, c policy.Call) (all []Foreseen) {
	s.loadSaved()
	c.Method = methodOf[c.Target]
	known := func(context.Context) (json.RawMessage, error) {
		list := s.inner.Known().Tools
		if i := slices.IndexFunc(list.Items, func(t mcp.Tool) bool { return t.Name == c.Name }); i >= 0 {
			return ofTool(&list.Items[i]).annotations, nil
		} else if list.At.IsZero() {
			return nil, fmt.Errorf("the tools of %s were not listed yet", s.Name())
		}
		return nil, nil
	}
	if c.Target == policy.Tool {
		c.Annotations = known
	}
	for _, decider := range s.host.deciders {
		p, plugin := decider.(*policyplugin.Decider)
		if !plugin || p.Scope(c.Caller, c.Server) == policy.Everything {
			continue
		}
		said := Foreseen{Policy: p.String(), ByArguments: p.ByArguments(ctx, &c)}
		if !said.ByArguments {
			said.Decision = p.Decide(ctx, &c)
		}
		all = append(all, said)
	}
	return all
}

// confirm asks the person whether a call goes on, and returns what is decided.
func (v *view) confirm(ctx context.Context, c *policy.Call, d policy.Decision) policy.Decision {
	v.person = "none"
	hint := withReason("make the call in a terminal, or through a client that shows forms (elicitation): there a person is asked", d.Hint)
	ask := v.host.config.Confirm
	if ask == nil || session.Unattended(ctx) {
		d.Ask, d.Reason, d.Hint = false, withReason(d.Reason, "a person is to be asked, and none can be here"), hint
		return d
	}
	yes, err := ask(ctx, policy.Question{Call: c, Rule: d.Rule, Reason: d.Reason})
	d.Ask, d.Allow = false, yes && err == nil
	switch {
	case err != nil:
		d.Reason, d.Hint = withReason(d.Reason, fmt.Sprintf("a person is to be asked, and was not: %v", err)), hint
	case !yes:
		v.person, d.Reason = "no", withReason(d.Reason, "the person who was asked said no")
	default:
		v.person = "yes"
	}
	return d
}

func withReason(reason, more string) string {
	if reason == "" || more == "" {
		return reason + more
	}
	return reason + "; " + more
}

// isPlainWord reports whether a shell takes a word as it is, and no command takes it for a flag.
func isPlainWord(word string) bool {
	odd := func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("_.,:/-", r)
	}
	return word != "" && word[0] != '-' && !strings.ContainsFunc(word, odd)
}

// refuse returns the error of a request that is denied. what is told to be denied; call is it as a rule names it, or
// "". It tells the rule to the user who runs the program alone.
func (v *view) refuse(method, what, call string, d policy.Decision) error {
	why := ""
	if v.caller.Principal == "" && d.Rule != "" {
		why = ": " + d.Rule
	}
	if why != "" && d.Reason != "" {
		why += "; " + d.Reason
	}
	check := "CLIENT SERVER/TOOL"
	client := strings.TrimLeft(v.caller.Name+","+string(v.caller.Kind), ",")
	if v.caller.Principal == "" && !strings.ContainsAny(v.caller.Name, ",:") && isPlainWord(client) && isPlainWord(call) {
		check = client + " " + call
	}
	hint := "`wharf acl check " + check + "` says which rule decides"
	if why != "" && d.Hint != "" {
		hint = d.Hint
	}
	return hosterr.Errorf(ErrDenied, hint, "%s on %s: %s may not call %s%s", method, v.entry.Name, v.caller, what, why)
}

// Lacks reports whether the newest list of the server is known and has no tool of that name. Neither the entry nor
// [Config.Deciders] count, so the answer is for the user alone. It sends no request.
func (s *Session) Lacks(tool string) bool {
	list := s.inner.Known().Tools
	return !list.At.IsZero() && !list.Stale && !slices.ContainsFunc(list.Items, func(t mcp.Tool) bool { return t.Name == tool })
}

// Allows returns nil if the caller of a context may call something of the server, and otherwise an
// [ErrDenied]
func (s *Session) Allows(ctx context.Context, method string, target policy.Target, name string) error {
	v := s.view(ctx)
	return v.admit(ctx, method, nil, subject{target: target, name: name})
}
