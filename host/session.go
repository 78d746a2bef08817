package host

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/host/internal/connect"
	"github.com/wharf-mcp/wharf/host/internal/manager"
	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// Session is a logical connection to one server, made by [Host.Connect] or
// [Host.Add]. The process, socket and plugin under it may end and be replaced: it
// connects when it is first needed, and is kept connected from then on, see [Policy].
// Close releases it.
type Session struct {
	host   *Host
	entry  atomic.Pointer[Server]
	inner  *session.Session
	driver *manager.Driver

	harmless atomic.Pointer[harmlessTools] // see learn
	starting connect.Starting              // the connection while it is made
	refused  atomic.Pointer[string]        // the method that needs a sign-in; nil for none
}

// Connect adds a server, starts or reaches it, finds out which era of the
// protocol it speaks, and opens a session. ctx bounds only that; the session goes
// on after it. On an error nothing is left behind.
//
// An entry with a url and no transport is tried over Streamable HTTP, and if the server
// has none, over its predecessor HTTP+SSE. The one that worked is remembered for the next
// session with that url.
func (h *Host) Connect(ctx context.Context, s Server) (*Session, error) {
	out, err := h.add(s)
	if err != nil {
		return nil, fmt.Errorf("connect %s: %w", s.Name, err)
	}
	if err := out.Ready(ctx); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// Add returns a session with a server that is not connected yet: that is done by
// [Session.Start], or by the first call, which also find an entry that cannot work.
// Several sessions may have the same entry, and the same name.
func (h *Host) Add(s Server) (*Session, error) {
	out, err := h.add(s)
	if err != nil {
		return nil, fmt.Errorf("add %s: %w", s.Name, err)
	}
	return out, nil
}

func (h *Host) add(entry Server) (*Session, error) {
	s := &Session{host: h}
	s.entry.Store(&entry)
	var err error
	if s.inner, err = session.New(h.sessionConfig(s)); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	s.driver, err = h.manager.Add(manager.Config{
		Name: entry.Name, Dial: s.dial, Classify: classify, Disabled: entry.Disabled, Policy: h.config.Reconnect,
	})
	if err != nil {
		return nil, err
	}
	h.sessions[s] = struct{}{}
	return s, nil
}

// all returns the sessions that are not closed.
func (h *Host) all() []*Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Collect(maps.Keys(h.sessions))
}

func (h *Host) forget(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, s)
	if name := s.Name(); h.servers[name] == s {
		delete(h.servers, name) // Apply brings it back
	}
}

// sessionConfig joins a session to its connections and to the callbacks.
func (h *Host) sessionConfig(s *Session) session.Config {
	name := s.Name()
	c := session.Config{
		Name:        name,
		Client:      h.config.Client,
		Connections: connections{s},
		MaxTimeout:  h.config.MaxTimeout,
		NoValidate:  h.config.NoValidate,
		Warn:        func(text string) { h.warn(name, text) },
	}
	if f := h.config.Elicit; f != nil {
		c.Elicit = func(ctx context.Context, e mcp.Elicitation) (mcp.ElicitResult, error) { return f(ctx, name, e) }
	}
	if f := h.config.Sample; f != nil {
		c.Sample = func(ctx context.Context, p json.RawMessage) (json.RawMessage, error) { return f(ctx, name, p) }
	}
	if f := h.config.Roots; f != nil {
		c.Roots = func(ctx context.Context) ([]mcp.Root, error) { return f(ctx, name) }
	}
	if f := h.config.Event; f != nil {
		c.Notify = func(method string, params json.RawMessage) { f(Event{Server: name, Method: method, Params: params}) }
	}
	return c
}

// Name returns the name of the server entry.
func (s *Session) Name() string { return s.entry.Load().Name }

// Info returns what is known of the server: nothing before it was first connected.
func (s *Session) Info() status.Info { return s.inner.Info() }

// ListTools returns the tools of the server that its entry permits, which are all where it
// names none, with their schemas as written.
func (s *Session) ListTools(ctx context.Context) ([]mcp.Tool, error) {
	entry := s.entry.Load()
	tools, err := answer(ctx, s, mcp.MethodListTools, s.inner.ListTools)
	if err == nil {
		s.learn(entry, tools)
	}
	return permitted(entry, tools), err
}

// do makes a request. If the server wants a sign-in, the person signs in, and the
// request is made again.
func (s *Session) do(ctx context.Context, method string, request func() error) error {
	return s.repeat(ctx, method, false, request)
}

// answer makes a request that has a result.
func answer[T any](ctx context.Context, s *Session, method string, request func(context.Context) (T, error)) (result T, err error) {
	err = s.do(ctx, method, func() (err error) {
		result, err = request(ctx)
		return err
	})
	return result, err
}

// CallTool runs a tool. args is anything that marshals to a JSON object: a map,
// a struct, a [json.RawMessage], or nil for none. An error means that there is
// no result; that the tool failed is in the result, as IsError. With a list of
// tools that holds, both are checked; see [ArgumentError] and [ResultError]. A tool that
// the entry does not permit is [ErrDenied], and nothing is sent.
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

// Call sends a request of any method and decodes its result with
// [json.Unmarshal]; a *[json.RawMessage] keeps it as it came, nil drops it.
// params is anything that marshals to an object, or nil. What the protocol
// wants in _meta is added. Tools that the entry does not permit are neither listed nor
// called by it.
func (s *Session) Call(ctx context.Context, method string, params, result any) error {
	entry := s.entry.Load()
	params, err := permitsRequest(entry, method, params)
	if err != nil {
		return err
	}
	if method != mcp.MethodListTools || !filters(entry) {
		return s.do(ctx, method, func() error { return s.inner.Call(ctx, method, params, result) })
	}
	var text json.RawMessage
	if err := s.do(ctx, method, func() error { return s.inner.Call(ctx, method, params, &text) }); err != nil {
		return err
	}
	return decodePermitted(entry, text, result)
}

// Notify sends a notification. It returns when the transport has it.
func (s *Session) Notify(ctx context.Context, method string, params any) error {
	return explain(s.Name(), s.inner.Notify(ctx, method, params))
}

// Close ends the session: calls in flight end with [ErrClosed], the process or
// socket goes away, and none is opened any more. It returns when nothing is
// left, and may be called more than once and from callbacks.
func (s *Session) Close() error {
	defer s.host.forget(s) // not before: Close of the host waits for it too
	return s.inner.Close()
}
