package host

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/host/internal/connect"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/manager"
	"github.com/wharf-mcp/wharf/host/internal/session"
	"github.com/wharf-mcp/wharf/host/policy"
	"github.com/wharf-mcp/wharf/host/status"
)

// Session is a logical connection to one server, made by [Host.Connect] or [Host.Add]. The
// process, socket and plugin under it may end and be replaced. The session connects when it is
// first needed, and is kept connected from then on, see [Config.Reconnect]. Close releases it.
type Session struct {
	host   *Host
	entry  atomic.Pointer[Server]
	inner  *session.Session
	driver *manager.Driver

	harmless   atomic.Pointer[harmlessTools] // the tools that may be called again
	warned     atomic.Pointer[Server]        // the entry that was last warned of, see warnOfIdle
	starting   connect.Starting              // the connection while it is made
	savedLists savedLists                    // the lists that it knows from earlier runs
	renewals   renewals                      // of lists that changed
	refused    atomic.Pointer[string]        // the method that needs a sign-in; nil for none
	connected  atomic.Bool                   // there was a connection
	usage      usage                         // decides when the server rests
	private    bool                          // see Client.Private
	caller     policy.Caller                 // see Client.Caller
}

// Connect adds a server, starts or reaches it, finds out which era of the protocol it speaks,
// and opens a session. ctx bounds only the connecting; the session goes on after it ends. After
// an error nothing is left behind.
//
// For an entry with a url and no transport, Connect tries Streamable HTTP, and if the server has
// none, its predecessor HTTP+SSE. The one that worked is remembered for the next session with
// that url.
func (h *Host) Connect(ctx context.Context, s Server) (*Session, error) {
	out, err := h.add(s, h.config.Client)
	if err != nil {
		return nil, fmt.Errorf("connect %s: %w", s.Name, err)
	}
	if err := out.Ready(ctx); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// Add returns a session with a server that is not connected yet. [Session.Start] or the first
// call connects it, and reports an entry that cannot work. Several sessions may have the same
// entry, and the same name.
func (h *Host) Add(s Server) (*Session, error) { return h.AddClient(s, h.config.Client) }

// AddClient is [Host.Add] with a client of its own in place of [Config.Client].
func (h *Host) AddClient(s Server, c Client) (*Session, error) {
	out, err := h.add(s, c)
	if err != nil {
		return nil, fmt.Errorf("add %s: %w", s.Name, err)
	}
	return out, nil
}

func (h *Host) add(entry Server, client Client) (*Session, error) {
	client.name()
	s := &Session{host: h, private: client.Private, caller: client.Caller}
	s.usage.watch(s)
	s.entry.Store(&entry)
	var err error
	if s.inner, err = session.New(h.sessionConfig(s, &client)); err != nil {
		return nil, &hosterr.Error{Kind: ErrConfig, Err: err}
	}
	if err := h.register(s, &entry); err != nil {
		return nil, err
	}
	s.showSaved()
	return s, nil
}

// register gives a session its driver.
func (h *Host) register(s *Session, entry *Server) (err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return ErrClosed
	}
	s.driver, err = h.manager.Add(manager.Config{
		Name: entry.Name, Dial: s.dial, Classify: classify, Pulse: s.pulse, Disabled: entry.Disabled, Policy: manager.Policy(h.reconnect),
	})
	if err == nil {
		h.sessions[s] = struct{}{}
	}
	return err
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
		delete(h.servers, name) // Apply adds it again
	}
}

// sessionConfig returns the configuration of a session: its connections and its callbacks.
func (h *Host) sessionConfig(s *Session, client *Client) session.Config {
	name := s.Name()
	c := session.Config{
		Name:        name,
		Connections: connections{s},
		MaxTimeout:  h.config.MaxTimeout,
		NoValidate:  h.config.NoValidate,
		Warn:        func(text string) { h.warn(name, text) },
		Listed:      func() { h.queueSave(s) },
		Changed:     s.changed,
	}
	client.offer(&c)
	f := client.Event
	if f == nil {
		f = h.config.Event
	}
	if f != nil {
		c.Notify = func(method string, params json.RawMessage, caller uint64) {
			label, subscription := s.inner.Origin(method, params)
			f(Event{Server: name, Method: method, Params: params, Caller: caller, Label: label, Subscription: subscription})
		}
	}
	return c
}

// Represent has the session speak for another client from its next connection on. Event, Caller and Private of the
// session stay as they are.
func (s *Session) Represent(c Client) error {
	c.name()
	as := session.Config{Name: s.Name()}
	c.offer(&as)
	return s.inner.Represent(as)
}

// Name returns the name of the server entry.
func (s *Session) Name() string { return s.entry.Load().Name }

// Info returns what the server said of itself. It is empty before the first connection.
func (s *Session) Info() status.Info { return s.inner.Info() }

// Close ends the session: calls in flight end with [ErrClosed], and the process or socket is
// closed and not opened again. Close returns when nothing is left. It may be called more than
// once and from callbacks.
func (s *Session) Close() error {
	s.usage.close()
	defer s.host.forget(s) // not before: Close of the host waits for it too
	return s.inner.Close()
}
