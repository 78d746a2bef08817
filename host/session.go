package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// Session is a logical connection to one server. The process or socket under
// it may end and be replaced: the next call then starts a new one. Sessions are
// made by [Host.Connect]; Close releases them.
type Session struct {
	host   *Host
	server Server
	via    string
	inner  *session.Session
}

// Info is what is known of a server since the newest handshake with it.
type Info struct {
	Server       mcp.Implementation // what the server calls itself
	Protocol     string             // the revision in use
	Era          mcp.Era
	Instructions string
	Capabilities json.RawMessage
	Transport    string // the plugin that carries the session
}

// Connect starts the server of an entry, or reaches it, finds out which era of
// the protocol it speaks, and opens a session. ctx bounds only that; the
// session goes on after it. On an error nothing is left behind.
//
// An entry with a url and no transport is tried over Streamable HTTP, and then,
// where there is none, over the HTTP+SSE of before. What was found is remembered
// for the next session with that url.
func (h *Host) Connect(ctx context.Context, s Server) (*Session, error) {
	ctx, over, err := h.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect %s: %w", s.Name, err)
	}
	defer over()
	var out *Session
	err = h.signingIn(ctx, s, func() (err error) {
		out, err = h.reach(ctx, s)
		return err
	})
	return out, err
}

// reach tries the transports that an entry may have.
func (h *Host) reach(ctx context.Context, s Server) (*Session, error) {
	var first error
	for _, via := range h.routes(s) {
		out, err := h.connect(ctx, s, via)
		if err == nil {
			h.remember(s, via)
			return out, nil
		}
		if first != nil {
			err = fmt.Errorf("%w; and over %s: %w", first, via, err)
		}
		if first = err; !elsewhere(via, err) {
			break
		}
	}
	return nil, explain(s.Name, first)
}

// connect opens a session over one transport.
func (h *Host) connect(ctx context.Context, s Server, via string) (*Session, error) {
	d, err := h.dialer(ctx, s, via)
	if err != nil {
		return nil, fmt.Errorf("connect %s: %w", s.Name, err)
	}
	out := &Session{host: h, server: s, via: via}
	out.inner, err = session.Open(ctx, h.sessionConfig(out, d))
	if err != nil {
		return nil, err
	}
	if err := h.adopt(out); err != nil {
		return nil, errors.Join(err, out.inner.Close())
	}
	return out, nil
}

// sessionConfig joins a session to its connections and to the callbacks.
func (h *Host) sessionConfig(s *Session, d *dialer) session.Config {
	name := s.server.Name
	c := session.Config{
		Name:       name,
		Client:     h.config.Client,
		Dial:       d.dial,
		Protocol:   protocol(s),
		Timeout:    cmp.Or(h.timeout(s.server), -1),
		MaxTimeout: h.config.MaxTimeout,
		Warn:       func(text string) { h.warn(name, text) },
	}
	if s.server.Timeout < 0 || s.server.Timeout == 0 && h.config.Timeout < 0 {
		c.StartTimeout = -1
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

// protocol returns what the session is to speak. HTTP+SSE has only one era.
func protocol(s *Session) string {
	if s.via == transportSSE && s.server.Protocol == "" {
		return session.LegacyOnly
	}
	return s.server.Protocol
}

// adopt makes the session one that Close of the host closes.
func (h *Host) adopt(s *Session) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return ErrClosed
	}
	h.sessions[s] = struct{}{}
	return nil
}

func (h *Host) forget(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.sessions, s)
}

// Name returns the name of the server entry.
func (s *Session) Name() string { return s.server.Name }

// Info returns what is known of the server.
func (s *Session) Info() Info {
	i := s.inner.Info()
	return Info{
		Server: i.Server, Protocol: i.Protocol, Era: i.Era, Instructions: i.Instructions,
		Capabilities: i.Capabilities, Transport: s.via,
	}
}

// ListTools returns all tools of the server, with their schemas as written.
func (s *Session) ListTools(ctx context.Context) ([]mcp.Tool, error) {
	var tools []mcp.Tool
	err := s.do(ctx, func() (err error) {
		tools, err = s.inner.ListTools(ctx)
		return err
	})
	return tools, err
}

// do makes a request, and has the person sign in first if the server turns out to
// want that.
func (s *Session) do(ctx context.Context, request func() error) error {
	return s.host.signingIn(ctx, s.server, func() error { return explain(s.server.Name, request()) })
}

// CallTool runs a tool. args is anything that marshals to a JSON object: a map,
// a struct, a [json.RawMessage], or nil for none. An error means that there is
// no result; that the tool failed is in the result, as IsError.
func (s *Session) CallTool(ctx context.Context, name string, args any) (*mcp.CallToolResult, error) {
	var result *mcp.CallToolResult
	err := s.do(ctx, func() (err error) {
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
// wants in _meta is added.
func (s *Session) Call(ctx context.Context, method string, params, result any) error {
	return s.do(ctx, func() error { return s.inner.Call(ctx, method, params, result) })
}

// Notify sends a notification. It returns when the transport has it.
func (s *Session) Notify(ctx context.Context, method string, params any) error {
	return explain(s.server.Name, s.inner.Notify(ctx, method, params))
}

// Close ends the session: calls in flight end with [ErrClosed], the process or
// socket goes away, and none is opened any more. It returns when nothing is
// left, and may be called more than once and from callbacks.
func (s *Session) Close() error {
	defer s.host.forget(s) // not before: Close of the host waits for it too
	return s.inner.Close()
}
