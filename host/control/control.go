package control

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/connect"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// Config says what a control serves.
type Config struct {
	// Wharf is what the program calls itself.
	Wharf Program

	// Transport is the plugin that frames the messages of editors; "" is stdio. Framing is the
	// plugin's setting of that name; with "", stdio uses the framing of the editor.
	Transport, Framing string

	// Source is the configuration that editors may look at and change; nil lets them do neither.
	Source *Source

	// Gateways are those of the program; nil is none.
	Gateways *Gateways
}

// Control serves editors, which share its servers. Make it with [New], call [Control.Install] before
// the host is made, and [Control.Open] after that. From then on its methods may be called from any
// goroutine.
type Control struct {
	config Config
	host   *host.Host
	kept   kept

	tracing tracing
	events  *eventLog

	patience time.Duration // how long an editor may take to answer
	numbers  atomic.Uint64 // of editors
	counts   struct{ requests, failed, asked, unanswered atomic.Uint64 }

	ctx     context.Context // ends with Close
	cancel  context.CancelCauseFunc
	running sync.WaitGroup // ServeConn, and the goroutines that follow servers and the configuration

	configuring sync.Mutex  // held while a configuration is read and applied; guards the next two
	client      host.Client // what servers are told, from the first initialize on
	unread      string      // why the configuration cannot be read; "" if it can

	mu            sync.Mutex
	closed        bool
	editors       []*editor // those that have said who they are; the one that asked last is last
	configuration *Configuration
	servers       map[string]*server // of the configuration; nil until the first initialize
	watches       map[resourceKey]*resourceWatch
}

// server is a server that editors reach.
type server struct {
	entry   host.Server
	session *host.Session // nil if err is set
	err     error         // why there is no session
	watched *sync.Once    // the lists of the session are watched from its first connection on
}

// callbackTime is how long an editor may take to answer a request. A person may have to fill in a form
// or sign in meanwhile.
const callbackTime = 10 * time.Minute

// ErrClosed is the error of calls to a closed control.
var ErrClosed = errors.New("the control is closed")

// New returns a control that serves no editor yet.
func New(c Config) *Control {
	control := &Control{config: c, events: newEventLog(), patience: callbackTime, watches: make(map[resourceKey]*resourceWatch)}
	control.ctx, control.cancel = context.WithCancelCause(context.Background())
	return control
}

// Open says which servers editors reach, through which host, which has the plugins of the configuration.
// It starts no server: a server starts when an editor needs it.
func (c *Control) Open(h *host.Host, now Configuration) error {
	if err := now.check(); err != nil {
		return err
	}
	c.host, c.configuration = h, &now
	if src := c.config.Source; src != nil && src.Follow != nil {
		c.running.Go(func() { src.Follow(c.ctx, func() { c.reload() }) }) // which tells editors of an error
	}
	return nil
}

// ServeConn serves one editor over a stream, and closes the stream. It returns when the editor has
// ended its side and has all its answers, when the stream breaks, or when ctx or the control ends. An
// error says why the stream broke. When ServeConn returns, the editor is sent nothing more, and all that
// still runs for it are requests that have not noticed their end.
func (c *Control) ServeConn(ctx context.Context, stream io.ReadWriteCloser) error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		stream.Close()
		return ErrClosed
	}
	c.running.Add(1)
	c.mu.Unlock()
	defer c.running.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.ctx, func() { cancel(ErrClosed) })()

	e := newEditor(ctx, c)
	defer e.leave()
	a, err := c.host.Accept(ctx, connect.Accept{
		Name: "editor", Transport: c.config.Transport, Framing: c.config.Framing, Stream: stream, Handler: e,
		Cancel:   rpc.Cancellation{Method: methodCancel, ID: "id", Answered: true},
		Untraced: true,
		Begin:    func(peer *rpc.Peer) { e.peer = peer },
	})
	if err != nil {
		return err
	}
	return a.Await(ctx, e.stopEvents)
}

// Close ends all editors, and closes the sessions of the servers. The caller closes the host after it.
func (c *Control) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel(ErrClosed)
	c.configuring.Lock() // what is being applied is applied
	c.mu.Lock()
	servers := c.servers
	c.mu.Unlock()
	c.configuring.Unlock()
	var errs []error
	for _, s := range servers {
		if s.session != nil {
			errs = append(errs, s.session.Close())
		}
	}
	c.running.Wait()
	return errors.Join(append(errs, c.tracing.stop())...)
}

// Stopped reports whether an editor has stopped a server whose entry is turned on.
func (c *Control) Stopped(server string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.servers[server]
	return s != nil && s.session != nil && !s.entry.Disabled && s.session.Status().State == status.Disabled
}

// admit takes an editor that has said who it is.
func (c *Control) admit(e *editor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || e.gone { // its first request may be served behind its end
		return
	}
	c.editors = append(c.editors, e)
}

// forget takes an editor out that has left, with its subscriptions.
func (c *Control) forget(e *editor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.gone = true
	for key := range c.watches {
		c.unwatch(e, key)
	}
	c.editors = slices.DeleteFunc(c.editors, func(other *editor) bool { return other == e })
}

// touch notes that an editor is the one that asked last.
func (c *Control) touch(e *editor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := slices.Index(c.editors, e); at >= 0 {
		c.editors = append(slices.Delete(c.editors, at, at+1), e)
	}
}

// server returns a server by its name.
func (c *Control) server(name string) (*server, error) {
	c.mu.Lock()
	s := c.servers[name]
	c.mu.Unlock()
	switch {
	case s == nil:
		return nil, invalid(KindUnknownServer, "servers/list lists those that there are", "no server is called %q", name)
	case s.err != nil:
		return nil, s.err
	}
	return s, nil
}

// state returns the state of a server.
func (c *Control) state(s *server) Server {
	if s.err != nil {
		return Server{Name: s.entry.Name, State: "failed", Reason: "config", Error: problem(c.host, s.err)}
	}
	return stateOf(c.host, s.session.Status())
}

// follow tells editors of the states of servers and of their changes, until the control or the host ends.
func (c *Control) follow(watch status.Watch) {
	defer watch.Close()
	waiting := make(map[string]bool) // for a sign-in, by server
	for {
		u, err := watch.Next(c.ctx)
		if err != nil {
			return
		}
		c.mu.Lock()
		s := c.servers[u.Name]
		c.mu.Unlock()
		if s == nil || s.session == nil || s.session.Status().ID != u.ID {
			continue
		}
		state := stateOf(c.host, u.Status)
		c.events.add(Event{Kind: ServerState, Server: u.Name, State: &state})
		if now := u.State == status.AuthRequired; now != waiting[u.Name] {
			if waiting[u.Name] = now; now {
				c.events.add(Event{Kind: SignInNeeded, Server: u.Name})
			}
		}
		if u.State == status.Connected {
			s.watched.Do(func() { c.running.Go(func() { c.watchLists(s) }) })
		}
	}
}

// watchLists tells editors of changed lists of a server, over all its connections, until the control
// ends. A server that has no subscriptions tells of changes in no other way.
func (c *Control) watchLists(s *server) {
	sub, err := s.session.Subscribe(host.WithOptions(c.ctx, host.RequestOptions{Unattended: true}), mcp.Filter{Tools: true, Prompts: true, Resources: true})
	if err != nil {
		return
	}
	defer sub.Close()
	for {
		change, err := sub.Next(c.ctx)
		if err != nil {
			return
		}
		for _, kind := range changed(change, sub.Honoured()) {
			c.events.add(Event{Kind: kind, Server: s.entry.Name})
		}
	}
}

// changed returns the kinds of the events of a change. If changes were missed, those are all that the
// server reports.
func changed(change mcp.Change, honoured mcp.Filter) (kinds []EventKind) {
	for _, list := range []struct {
		change   mcp.ChangeKind
		honoured bool
		kind     EventKind
	}{
		{mcp.ToolsChanged, honoured.Tools, ToolsChanged},
		{mcp.PromptsChanged, honoured.Prompts, PromptsChanged},
		{mcp.ResourcesChanged, honoured.Resources, ResourcesChanged},
	} {
		if change.Kind == list.change || change.Kind == mcp.Missed && list.honoured {
			kinds = append(kinds, list.kind)
		}
	}
	return kinds
}

// hear tells editors of a warning, or of a log message of a server.
func (c *Control) hear(e host.Event) {
	switch {
	case e.Plugin != "":
		c.events.add(Event{Kind: PluginWarning, Plugin: e.Plugin, Text: e.Warning})
	case e.Method == "":
		c.events.add(Event{Kind: Warning, Server: e.Server, Text: e.Warning})
	case e.Method == mcp.NotificationMessage:
		c.events.add(Event{Kind: Log, Server: e.Server, Log: slices.Clone(e.Params)})
	}
}

// stderr tells editors of what servers write to their stderr. It passes everything on.
type stderr struct {
	control *Control
	next    io.Writer // nil for none
}

// Write takes a line of a server, as host.Config.Stderr has it: with the name of the server before it.
func (w *stderr) Write(line []byte) (int, error) {
	name, text, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), "] ")
	w.control.events.add(Event{Kind: Stderr, Server: strings.TrimPrefix(name, "["), Text: cleantext.Text(text)})
	if w.next == nil {
		return len(line), nil
	}
	return w.next.Write(line)
}
