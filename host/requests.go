package host

import (
	"context"
	"encoding/json"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// ErrUnsupported: the server does not declare the capability that a request needs. The
// request was not sent. [Session.Call] sends any request.
var ErrUnsupported = session.ErrUnsupported

// answer makes a request and returns its result. Like [Session.repeat], it makes a request once
// more where that is safe.
func answer[T any](ctx context.Context, s *Session, method string, request func(context.Context) (T, error)) (result T, err error) {
	err = s.repeat(ctx, method, false, func() (err error) {
		result, err = request(ctx)
		return err
	})
	return result, err
}

// ListTools returns the tools of the server that its entry permits, with their schemas as the
// server wrote them. An entry that names no tools permits all.
func (s *Session) ListTools(ctx context.Context) ([]mcp.Tool, error) {
	entry := s.entry.Load()
	tools, err := answer(ctx, s, mcp.MethodListTools, s.inner.ListTools)
	if err == nil {
		s.learn(entry, tools)
		s.warnOfIdle(entry, tools)
	}
	return permitted(entry, tools), err
}

// CallTool runs a tool. args is anything that marshals to a JSON object: a map, a struct, a
// [json.RawMessage], or nil for none. An error means that there is no result. The result says,
// as IsError, whether the tool failed. If the session has a current list of tools, arguments and
// result are checked; see [ArgumentError] and [ResultError]. A tool that the entry does not
// permit is [ErrDenied], and nothing is sent.
func (s *Session) CallTool(ctx context.Context, name string, args any) (*mcp.CallToolResult, error) {
	if err := permits(s.entry.Load(), name); err != nil {
		return nil, err
	}
	var result *mcp.CallToolResult
	err := s.repeat(ctx, mcp.MethodCallTool, s.mayRepeat(name), func() (err error) {
		result, err = s.inner.CallTool(ctx, name, args)
		return err
	})
	if err != nil {
		return nil, err
	}
	return result, nil
}

// Call sends a request of any method and decodes its result with [json.Unmarshal]: a
// *[json.RawMessage] keeps the JSON as it came, nil drops it. params is anything that marshals
// to an object, or nil; Call adds the members of _meta that the protocol wants. It neither lists
// nor calls tools that the entry does not permit.
func (s *Session) Call(ctx context.Context, method string, params, result any) error {
	entry := s.entry.Load()
	params, err := permitsRequest(entry, method, params)
	if err != nil {
		return err
	}
	if method != mcp.MethodListTools || !filters(entry) {
		return s.repeat(ctx, method, false, func() error { return s.inner.Call(ctx, method, params, result) })
	}
	var text json.RawMessage
	if err := s.repeat(ctx, method, false, func() error { return s.inner.Call(ctx, method, params, &text) }); err != nil {
		return err
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(permittedResult(entry, text), result)
}

// Notify sends a notification, and returns when the transport has it. It refuses one that calls
// a tool if the entry says which tools may be called.
func (s *Session) Notify(ctx context.Context, method string, params any) error {
	if err := permitsNotification(s.entry.Load(), method); err != nil {
		return err
	}
	return explain(s.Name(), s.inner.Notify(ctx, method, params))
}

// ListResources returns all resources that the server lists, with everything that the server
// wrote about each. It does not ask again for a list that is fresh, as the server said, and has
// not changed since.
func (s *Session) ListResources(ctx context.Context) ([]mcp.Resource, error) {
	return answer(ctx, s, mcp.MethodListResources, s.inner.ListResources)
}

// ListResourceTemplates returns the server's templates, which stand for resources that it does
// not list one by one.
func (s *Session) ListResourceTemplates(ctx context.Context) ([]mcp.ResourceTemplate, error) {
	return answer(ctx, s, mcp.MethodListTemplates, s.inner.ListResourceTemplates)
}

// ReadResource returns the contents of a resource. It does not ask again for a result that is
// fresh, as the server said, unless the server reports a change.
func (s *Session) ReadResource(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
	return answer(ctx, s, mcp.MethodReadResource, func(ctx context.Context) (*mcp.ReadResourceResult, error) {
		return s.inner.ReadResource(ctx, uri)
	})
}

// ListPrompts returns all prompts of the server; see [Session.ListResources].
func (s *Session) ListPrompts(ctx context.Context) ([]mcp.Prompt, error) {
	return answer(ctx, s, mcp.MethodListPrompts, s.inner.ListPrompts)
}

// GetPrompt returns the messages of a prompt, with these arguments filled in.
func (s *Session) GetPrompt(ctx context.Context, name string, args map[string]string) (*mcp.GetPromptResult, error) {
	return answer(ctx, s, mcp.MethodGetPrompt, func(ctx context.Context) (*mcp.GetPromptResult, error) {
		return s.inner.GetPrompt(ctx, name, args)
	})
}

// Complete asks the server how to complete an argument of a prompt, or a variable of a
// resource template.
func (s *Session) Complete(ctx context.Context, p mcp.CompleteParams) (*mcp.Completion, error) {
	return answer(ctx, s, mcp.MethodComplete, func(ctx context.Context) (*mcp.Completion, error) {
		return s.inner.Complete(ctx, p)
	})
}

// SetLevel tells the server to log from that level up. The log messages go to [Config.Event]. A
// legacy server is told now, and again on each new connection. A modern one is told with every
// request from now on, and logs about those requests only.
func (s *Session) SetLevel(ctx context.Context, level mcp.Level) error {
	return s.repeat(ctx, mcp.MethodSetLevel, false, func() error { return s.inner.SetLevel(ctx, level) })
}

// Ping asks for a sign of life: with ping in the legacy era, and with server/discover in the
// modern era, which has no ping. An answer that the method is unknown counts as a sign of life.
func (s *Session) Ping(ctx context.Context) error {
	connected := s.driver.Status().State == status.Connected // else the latency would be that of a start
	began := time.Now()
	err := s.repeat(ctx, mcp.MethodPing, false, func() error { return s.inner.Ping(ctx) })
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
// A nil cursor stands for the first page. Tools that the entry does not permit are left out.
func Page[T mcp.Tool | mcp.Prompt | mcp.Resource | mcp.ResourceTemplate | mcp.Task](ctx context.Context, s *Session, cursor *string) (items []T, next *string, err error) {
	entry := s.entry.Load()
	err = s.repeat(ctx, mcp.MethodListTools, false, func() (err error) {
		items, next, err = session.Page[T](ctx, s.inner, cursor)
		return err
	})
	if tools, ok := any(items).([]mcp.Tool); ok {
		items = any(permitted(entry, tools)).([]T)
	}
	return items, next, err
}
