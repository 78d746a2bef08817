package host

import (
	"context"
	"encoding/json"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
	"github.com/wharf-mcp/wharf/host/status"
)

// ErrUnsupported: the server does not declare the capability that a request needs. The
// request was not sent. [Session.Call] sends any request.
var ErrUnsupported = session.ErrUnsupported

// answer makes a request and returns its result: every request of a session goes through here. If the
// connection is lost before the answer, answer makes the request once more in two cases: the method is a
// read, or the tool is harmless and the entry is still the same. A request that succeeds allocates nothing
// here. The frames of callers that wait are small, since each garbage collection goes through them.
func answer[T any](ctx context.Context, s *Session, q *query, request func(context.Context) (T, error)) (result T, err error) {
	if !q.quiet && (s.host.config.Observer != nil || s.keeps(q)) {
		return watched(ctx, s, q, request)
	}
	if err := q.admit(ctx); err != nil {
		return result, err
	}
	q.admitted, q.sentTo = true, s.entry.Load()
	if s.usage.begin() {
		defer s.usage.end(q.method)
	}
	if result, err = request(ctx); err != nil {
		return mend(ctx, s, q, request, err)
	}
	s.note(q.method, nil)
	return result, nil
}

// watched is answer for a request that the observer sees, or that has a line in the audit log.
func watched[T any](ctx context.Context, s *Session, q *query, request func(context.Context) (T, error)) (result T, err error) {
	q.quiet = true
	ended := func(any, error) {}
	if s.host.config.Observer != nil {
		ctx, ended = s.observe(ctx, q)
	}
	if !s.keeps(q) {
		result, err = answer(ctx, s, q, request)
	} else if err = s.host.config.Audit.Ready(); err != nil {
		err = &hosterr.Error{Kind: ErrDenied, Err: err, Hint: "make room for the audit log, or write required = false into [audit]"}
	} else {
		began := time.Now()
		result, err = answer(ctx, s, q, request)
		s.keep(q, began, any(result), err)
	}
	ended(any(result), err)
	return result, err
}

// repeat is answer for a request that only fails or not, and is not watched.
func (s *Session) repeat(ctx context.Context, q *query, request func() error) error {
	q.quiet = true
	_, err := answer(ctx, s, q, func(context.Context) (struct{}, error) { return struct{}{}, request() })
	return err
}

// ListTools returns the tools of the server that its entry permits and [Config.Deciders] allow, with their
// schemas as the server wrote them. An entry that names no tools permits all.
func (s *Session) ListTools(ctx context.Context) ([]mcp.Tool, error) {
	var q query
	s.ask(ctx, &q, mcp.MethodListTools, "")
	tools, err := answer(ctx, s, &q, s.inner.ListTools)
	if err == nil {
		s.learn(q.entry, tools)
		s.warnOfIdle(q.entry, tools)
	}
	return shown(ctx, &q.view, q.method, tools, ofTool), err
}

// CallTool runs a tool. args is anything that marshals to a JSON object: a map, a struct, a
// [json.RawMessage], or nil for none. An error means that there is no result. The result says,
// as IsError, whether the tool failed. If the session has a current list of tools, arguments and
// result are checked; see [ArgumentError] and [ResultError]. A tool that the entry does not
// permit, or that [Config.Deciders] do not allow, is [ErrDenied], and nothing is sent; that goes for all
// that a session may be asked for.
func (s *Session) CallTool(ctx context.Context, name string, args any) (*mcp.CallToolResult, error) {
	var q query
	s.ask(ctx, &q, mcp.MethodCallTool, name)
	q.arguments = args
	if err := q.showArguments(); err != nil {
		return nil, err
	}
	result, err := answer(ctx, s, &q, func(ctx context.Context) (*mcp.CallToolResult, error) {
		return s.inner.CallTool(ctx, name, q.arguments)
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// Call sends a request of any method and decodes its result with [json.Unmarshal]: a
// *[json.RawMessage] keeps the JSON as it came, nil drops it. params is anything that marshals
// to an object, or nil; Call adds the members of _meta that the protocol wants. It neither lists
// nor calls what the entry does not permit or [Config.Deciders] do not allow.
func (s *Session) Call(ctx context.Context, method string, params, result any) error {
	var q query
	s.ask(ctx, &q, method, "")
	if q.raw = q.reads(method) || s.keeps(&q) || q.entry.Resend; q.raw && params != nil {
		var err error
		if q.params, err = json.Marshal(params); err != nil {
			return err
		}
		params = q.params // what is sent is what was looked at
	}
	if !q.hides(method) {
		_, err := answer(ctx, s, &q, func(ctx context.Context) (json.RawMessage, error) {
			err := s.inner.Call(ctx, method, params, result)
			if text, ok := result.(*json.RawMessage); ok && err == nil {
				return *text, nil
			}
			return nil, err
		})
		return err
	}
	var text json.RawMessage
	if err := s.repeat(ctx, &q, func() error { return s.inner.Call(ctx, method, params, &text) }); err != nil {
		return err
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(q.shownResult(ctx, method, text), result)
}

// Notify sends a notification, and returns when the transport has it. It refuses one that calls
// something if the entry or [Config.Deciders] say what may be called.
func (s *Session) Notify(ctx context.Context, method string, params any) error {
	v := s.view(ctx)
	if err := v.admitNotification(method); err != nil {
		return err
	}
	return explain(s.Name(), s.inner.Notify(ctx, method, params))
}

// ListResources returns all resources that the server lists, with everything that the server
// wrote about each. It does not ask again for a list that is fresh, as the server said, and has
// not changed since.
func (s *Session) ListResources(ctx context.Context) ([]mcp.Resource, error) {
	var q query
	s.ask(ctx, &q, mcp.MethodListResources, "")
	resources, err := answer(ctx, s, &q, s.inner.ListResources)
	return shown(ctx, &q.view, q.method, resources, ofResource), err
}

// ListResourceTemplates returns the server's templates, which stand for resources that it does
// not list one by one.
func (s *Session) ListResourceTemplates(ctx context.Context) ([]mcp.ResourceTemplate, error) {
	var q query
	s.ask(ctx, &q, mcp.MethodListTemplates, "")
	templates, err := answer(ctx, s, &q, s.inner.ListResourceTemplates)
	return shown(ctx, &q.view, q.method, templates, ofTemplate), err
}

// ReadResource returns the contents of a resource. It does not ask again for a result that is
// fresh, as the server said, unless the server reports a change.
func (s *Session) ReadResource(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
	var q query
	s.ask(ctx, &q, mcp.MethodReadResource, uri)
	return answer(ctx, s, &q, func(ctx context.Context) (*mcp.ReadResourceResult, error) {
		return s.inner.ReadResource(ctx, uri)
	})
}

// ListPrompts returns all prompts of the server; see [Session.ListResources].
func (s *Session) ListPrompts(ctx context.Context) ([]mcp.Prompt, error) {
	var q query
	s.ask(ctx, &q, mcp.MethodListPrompts, "")
	prompts, err := answer(ctx, s, &q, s.inner.ListPrompts)
	return shown(ctx, &q.view, q.method, prompts, ofPrompt), err
}

// GetPrompt returns the messages of a prompt, with these arguments filled in.
func (s *Session) GetPrompt(ctx context.Context, name string, args map[string]string) (*mcp.GetPromptResult, error) {
	var q query
	s.ask(ctx, &q, mcp.MethodGetPrompt, name)
	q.arguments = args
	if err := q.showArguments(); err != nil {
		return nil, err
	}
	return answer(ctx, s, &q, func(ctx context.Context) (*mcp.GetPromptResult, error) {
		return s.inner.GetPrompt(ctx, name, args)
	})
}

// Complete asks the server how to complete an argument of a prompt, or a variable of a
// resource template.
func (s *Session) Complete(ctx context.Context, p mcp.CompleteParams) (*mcp.Completion, error) {
	var q query
	s.ask(ctx, &q, mcp.MethodComplete, p.Ref.Name)
	if q.about.target = policy.Prompt; p.Ref.Name == "" {
		q.about = subject{target: policy.Resource, name: p.Ref.URI}
	}
	if q.showsPolicies() {
		var err error
		if q.params, err = json.Marshal(p); err != nil {
			return nil, err
		}
	}
	return answer(ctx, s, &q, func(ctx context.Context) (*mcp.Completion, error) {
		return s.inner.Complete(ctx, p)
	})
}

// SetLevel tells the server to log from that level up. The log messages go to [Config.Event]. A
// legacy server is told now, and again on each new connection. A modern one is told with every
// request from now on, and logs about those requests only.
func (s *Session) SetLevel(ctx context.Context, level mcp.Level) error {
	var q query
	s.ask(ctx, &q, mcp.MethodSetLevel, "")
	return s.repeat(ctx, &q, func() error { return s.inner.SetLevel(ctx, level) })
}

// Ping asks for a sign of life: with ping in the legacy era, and with server/discover in the
// modern era, which has no ping. An answer that the method is unknown counts as a sign of life.
func (s *Session) Ping(ctx context.Context) error {
	connected := s.driver.Status().State == status.Connected // else the latency would be that of a start
	began := time.Now()
	var q query
	s.ask(ctx, &q, mcp.MethodPing, "")
	err := s.repeat(ctx, &q, func() error { return s.inner.Ping(ctx) })
	if latency := time.Since(began); err == nil && connected {
		s.driver.Report(func(st *status.Status) { st.Latency = latency })
	}
	return err
}

// RootsChanged tells all servers, at the same time, that [Client.Roots] now returns other
// folders for them. Servers of the modern era are not told, since they ask for the roots
// whenever they need them, nor are servers without a connection.
func (h *Host) RootsChanged(ctx context.Context) error {
	return onAll(h.all(), func(s *Session) error { return explain(s.Name(), s.inner.RootsChanged(ctx)) })
}

// Page returns one page of a list, and the cursor of the next page, which is nil after the last.
// A nil cursor stands for the first page. What the entry does not permit or [Config.Deciders] do not allow
// is left out.
func Page[T mcp.Tool | mcp.Prompt | mcp.Resource | mcp.ResourceTemplate | mcp.Task](ctx context.Context, s *Session, cursor *string) (items []T, next *string, err error) {
	method, of := pageOf[T]()
	var q query
	s.ask(ctx, &q, method, "")
	err = s.repeat(ctx, &q, func() (err error) {
		items, next, err = session.Page[T](ctx, s.inner, cursor)
		return err
	})
	return shown(ctx, &q.view, method, items, of), next, err
}

// pageOf returns the method that lists items of a type, and what such an item is about.
func pageOf[T any]() (method string, of func(*T) subject) {
	var item any = new(T)
	switch item.(type) {
	case *mcp.Tool:
		return mcp.MethodListTools, any(ofTool).(func(*T) subject)
	case *mcp.Prompt:
		return mcp.MethodListPrompts, any(ofPrompt).(func(*T) subject)
	case *mcp.Resource:
		return mcp.MethodListResources, any(ofResource).(func(*T) subject)
	case *mcp.ResourceTemplate:
		return mcp.MethodListTemplates, any(ofTemplate).(func(*T) subject)
	}
	return mcp.MethodListTasks, any(ofTask).(func(*T) subject)
}
