package control

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// Names of methods that are no part of the table below.
const (
	methodInitialize   = "initialize"
	methodCancel       = "$/cancelRequest" // notification, either way
	methodProgress     = "$/progress"      // notification to the editor
	methodEvent        = "event"           // notification to the editor
	methodRootsChanged = "roots/changed"   // notification of the editor

	methodElicit   = "elicit" // these and the next are requests to the editor
	methodSample   = "sample"
	methodRoots    = "roots"
	methodOpenURL  = "openUrl"
	methodPrompt   = "prompt"
	methodShowCode = "showCode"
	methodApprove  = "approve"
)

// method is a method that an editor may call.
type method struct {
	params, result reflect.Type
	serve          func(ctx context.Context, e *editor, params []byte) (any, error)
}

// methods returns the methods that an editor may call after initialize, by name. They are made at the
// first use, since most runs of the program need none.
var methods = sync.OnceValue(func() map[string]method {
	return map[string]method{
		"servers/list":    of("servers/list", listServers),
		"servers/start":   onServer("servers/start", startServer),
		"servers/stop":    onServer("servers/stop", stopServer),
		"servers/restart": onServer("servers/restart", restartServer),
		"servers/add":     of("servers/add", addServer),
		"servers/confirm": of("servers/confirm", confirmServer),
		"servers/remove":  of("servers/remove", removeServer),
		"servers/enable":  of("servers/enable", enableServer),
		"servers/disable": of("servers/disable", disableServer),

		"config/get":    of("config/get", getConfig),
		"config/edit":   of("config/edit", editConfig),
		"config/reload": of("config/reload", reloadConfig),

		"trust/list":      of("trust/list", listTrust),
		"trust/allow":     onServer("trust/allow", allowServer),
		"trust/deny":      onServer("trust/deny", denyServer),
		"plugins/list":    of("plugins/list", listPlugins),
		"plugins/inspect": of("plugins/inspect", inspectPlugin),

		"tools/list":            onServer("tools/list", listTools),
		"tools/call":            onServer("tools/call", callTool),
		"resources/list":        onServer("resources/list", listResources),
		"resources/templates":   onServer("resources/templates", listTemplates),
		"resources/read":        onServer("resources/read", readResource),
		"resources/subscribe":   onServer("resources/subscribe", subscribe),
		"resources/unsubscribe": onServer("resources/unsubscribe", unsubscribe),
		"prompts/list":          onServer("prompts/list", listPrompts),
		"prompts/get":           onServer("prompts/get", getPrompt),
		"complete":              onServer("complete", complete),
		"request":               onServer("request", request),

		"tasks/start":  onServer("tasks/start", startTask),
		"tasks/list":   onServer("tasks/list", listTasks),
		"tasks/get":    onServer("tasks/get", getTask),
		"tasks/result": onServer("tasks/result", taskResult),
		"tasks/cancel": onServer("tasks/cancel", cancelTask),

		"gateway/status":  of("gateway/status", gatewayStatus),
		"gateway/clients": of("gateway/clients", gatewayClients),

		"auth/login":   onServer("auth/login", login),
		"auth/logout":  onServer("auth/logout", logout),
		"auth/status":  of("auth/status", signedIn),
		"status":       of("status", tellStatus),
		"trace/start":  of("trace/start", startTrace),
		"trace/stop":   of("trace/stop", stopTrace),
		"events/since": of("events/since", eventsSince),
		"logs/tail":    of("logs/tail", tailLogs),
	}
})

// of makes a method of a function.
func of[P, R any](name string, f func(context.Context, *editor, *P) (R, error)) method {
	return method{reflect.TypeFor[P](), reflect.TypeFor[R](), func(ctx context.Context, e *editor, text []byte) (any, error) {
		var p P
		if err := readParams(name, text, &p); err != nil {
			return nil, err
		}
		return f(ctx, e, &p)
	}}
}

// onServer makes a method of a function that needs the server which the params name. Params that lack
// what the schema requires reach no server.
func onServer[P any, N interface {
	*P
	server() string
}, R any](name string, f func(context.Context, *editor, *server, *P) (R, error)) method {
	return of(name, func(ctx context.Context, e *editor, p *P) (result R, err error) {
		if N(p).server() == "" {
			return result, invalid(KindParams, hintSchema, "%s: expected the member server", name)
		}
		s, err := e.control.server(N(p).server())
		if err != nil {
			return result, err
		}
		if err := hasRequired(name, p); err != nil {
			return result, err
		}
		return f(ctx, e, s, p)
	})
}

// hasRequired returns an error if a member of params that the schema requires is missing or empty.
func hasRequired(method string, params any) error {
	p := reflect.ValueOf(params).Elem()
	for i := range p.NumField() {
		member, option, _ := strings.Cut(p.Type().Field(i).Tag.Get("json"), ",")
		if option == "" && p.Field(i).IsZero() {
			return invalid(KindParams, hintSchema, "%s: expected the member %s", method, member)
		}
	}
	return nil
}

func (p *ServerParams) server() string    { return p.Server }
func (p *CallParams) server() string      { return p.Server }
func (p *ReadParams) server() string      { return p.Server }
func (p *RequestParams) server() string   { return p.Server }
func (p *StartTaskParams) server() string { return p.Server }
func (p *TaskParams) server() string      { return p.Server }
func (p *GetPromptParams) server() string { return p.Server }
func (p *CompleteParams) server() string  { return p.Server }

// methodNames returns the names of the methods that an editor may call, in their order.
func methodNames() []string {
	return slices.Sorted(maps.Keys(methods()))
}

func listServers(_ context.Context, e *editor, _ *Empty) (*ServerList, error) {
	c := e.control
	c.mu.Lock()
	entries, servers := c.configuration.Servers, c.servers
	c.mu.Unlock()
	list := &ServerList{Servers: []Server{}}
	for _, entry := range entries {
		if s := servers[entry.Name]; s != nil { // else the control is closing
			list.Servers = append(list.Servers, c.state(s))
		}
	}
	return list, nil
}

// startServer starts a server, also one that was stopped or whose entry disables it, and waits until it
// is ready for calls.
func startServer(ctx context.Context, e *editor, s *server, _ *ServerParams) (*Server, error) {
	s.session.Enable()
	if err := s.session.Ready(ctx); err != nil {
		return nil, err
	}
	state := e.control.state(s)
	return &state, nil
}

// stopServer ends the connection of a server, and the calls to it. Until it is started, calls fail.
func stopServer(_ context.Context, e *editor, s *server, _ *ServerParams) (*Server, error) {
	s.session.Disable()
	state := e.control.state(s)
	return &state, nil
}

// restartServer connects a server anew, also one that was stopped, for the editors that are there now. Calls in flight
// have ten seconds to end.
func restartServer(ctx context.Context, e *editor, s *server, p *ServerParams) (*Server, error) {
	entry := s.entry
	entry.Disabled = false
	err := e.control.represent(s.session)
	if err == nil {
		err = s.session.Reload(entry)
	}
	if err != nil {
		return nil, err
	}
	return startServer(ctx, e, s, p)
}

func listTools(ctx context.Context, _ *editor, s *server, _ *ServerParams) (*ToolList, error) {
	tools, err := s.session.ListTools(ctx)
	return &ToolList{notNil(tools)}, err
}

// callTool calls a tool. The progress of the call is told before its result.
func callTool(ctx context.Context, e *editor, s *server, p *CallParams) (*mcp.CallToolResult, error) {
	arguments, err := object("tools/call", "arguments", p.Arguments)
	if err == nil {
		err = notNegative("tools/call", "timeout", p.Timeout)
	}
	if err != nil {
		return nil, err
	}
	o := host.RequestOptions{Caller: e.number, Timeout: time.Duration(p.Timeout) * time.Millisecond}
	if !none(p.Progress) {
		if p.Progress[0] != '"' && p.Progress[0] != '-' && p.Progress[0]-'0' > 9 {
			return nil, invalid(KindParams, hintSchema, "tools/call: expected progress to be a string or a number")
		}
		o.Progress = func(done mcp.Progress) {
			if text, err := encode(ProgressParams{p.Progress, done}); err == nil {
				e.peer.Notify(ctx, methodProgress, rpc.Raw(text))
			}
		}
	}
	return s.session.CallTool(host.WithOptions(ctx, o), p.Name, arguments)
}

func listResources(ctx context.Context, _ *editor, s *server, _ *ServerParams) (*ResourceList, error) {
	resources, err := s.session.ListResources(ctx)
	return &ResourceList{notNil(resources)}, err
}

func listTemplates(ctx context.Context, _ *editor, s *server, _ *ServerParams) (*TemplateList, error) {
	templates, err := s.session.ListResourceTemplates(ctx)
	return &TemplateList{notNil(templates)}, err
}

func readResource(ctx context.Context, _ *editor, s *server, p *ReadParams) (*mcp.ReadResourceResult, error) {
	return s.session.ReadResource(ctx, p.URI)
}

func listPrompts(ctx context.Context, _ *editor, s *server, _ *ServerParams) (*PromptList, error) {
	prompts, err := s.session.ListPrompts(ctx)
	return &PromptList{notNil(prompts)}, err
}

func getPrompt(ctx context.Context, _ *editor, s *server, p *GetPromptParams) (*mcp.GetPromptResult, error) {
	return s.session.GetPrompt(ctx, p.Name, p.Arguments)
}

func complete(ctx context.Context, _ *editor, s *server, p *CompleteParams) (*CompleteResult, error) {
	found, err := s.session.Complete(ctx, mcp.CompleteParams{Ref: p.Ref, Argument: p.Argument, Context: p.Context})
	return &CompleteResult{found}, err
}

// request sends a server a request of any method. The entry of the server bounds it as it bounds calls.
func request(ctx context.Context, _ *editor, s *server, p *RequestParams) (json.RawMessage, error) {
	params, err := object("request", "params", p.Params)
	if err != nil {
		return nil, err
	}
	var result json.RawMessage
	err = s.session.Call(ctx, p.Method, params, &result)
	return result, err
}

func login(ctx context.Context, e *editor, s *server, _ *ServerParams) (*Empty, error) {
	return &Empty{}, e.control.host.Login(ctx, s.entry)
}

func logout(ctx context.Context, e *editor, s *server, _ *ServerParams) (*Empty, error) {
	return &Empty{}, e.control.host.Logout(ctx, s.entry)
}

func tellStatus(_ context.Context, e *editor, _ *Empty) (*Status, error) {
	c := e.control
	c.mu.Lock()
	editors := len(c.editors)
	c.mu.Unlock()
	n := c.host.Counts()
	return &Status{
		Wharf: c.config.Wharf, Editors: editors, Requests: c.counts.requests.Load(), Failed: c.counts.failed.Load(),
		Asked: c.counts.asked.Load(), Unanswered: c.counts.unanswered.Load(),
		Connected: n.Connected, Reconnected: n.Reconnected, Stopped: n.Stopped, Events: c.events.position(),
	}, nil
}

// eventsSince has the editor be told of events, behind one that it has seen.
func eventsSince(_ context.Context, e *editor, p *SinceParams) (*Position, error) {
	after, gap, err := e.control.events.start(*p)
	if err != nil {
		return nil, err
	}
	e.tellEvents(after, gap)
	position := e.control.events.position()
	return &position, nil
}

// tailLogs returns what a server has logged, as far as it is kept.
func tailLogs(_ context.Context, e *editor, p *TailParams) (*LogTail, error) {
	if p.Server != "" {
		if _, err := e.control.server(p.Server); err != nil && errors.As(err, new(*fault)) {
			return nil, err
		}
	}
	n := p.Count
	if n <= 0 {
		n = maxEvents
	}
	return &LogTail{e.control.events.tail(n, func(server string, kind EventKind) bool {
		return (p.Server == "" || p.Server == server) && (kind == Log || kind == Stderr || kind == Warning || kind == PluginWarning)
	})}, nil
}

// stateOf describes the status of a server.
func stateOf(h *host.Host, s status.Status) Server {
	return Server{
		Name: s.Name, State: s.State.String(), Reason: s.Reason.String(), Since: moment(s.Since), Error: problem(h, s.Err),
		Attempt: s.Attempt, RetryAt: moment(s.Next), Era: s.Era, Protocol: s.Protocol, Transport: s.Transport,
		Tools: s.Tools, Stale: s.Stale,
	}
}

// moment returns nil for a time that is not known.
func moment(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

// notNil returns a list that is [] and not null in JSON.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
