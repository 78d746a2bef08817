package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host/audit"
	"github.com/wharf-mcp/wharf/host/catalogue"
	"github.com/wharf-mcp/wharf/host/config"
	"github.com/wharf-mcp/wharf/host/internal/capability/process"
	"github.com/wharf-mcp/wharf/host/internal/connect"
	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
	"github.com/wharf-mcp/wharf/host/internal/hosterr"
	"github.com/wharf-mcp/wharf/host/internal/manager"
	"github.com/wharf-mcp/wharf/host/internal/modules"
	"github.com/wharf-mcp/wharf/host/internal/wasm"
	"github.com/wharf-mcp/wharf/host/observe"
	"github.com/wharf-mcp/wharf/host/policy"
	"github.com/wharf-mcp/wharf/host/replay"
	"github.com/wharf-mcp/wharf/host/signin"
	"github.com/wharf-mcp/wharf/host/trace"
	"github.com/wharf-mcp/wharf/host/trust"
	"github.com/wharf-mcp/wharf/host/vault"
)

// Server is one server as a configuration describes it. The entry is also the grant: its
// command, address or url is all that the transport may reach. Its variables and secrets are
// looked up for each connection, unless the entry was expanded or is [config.Server.Literal].
// Make an entry literal if its values come from what a user typed.
type Server = config.Server

// Config holds what a program decides about its host. The zero value is a host without plugins.
type Config struct {
	// Plugins are the transports and auth providers that are compiled into the program, by name;
	// plugins.Builtin() returns those that Wharf ships. Each function returns its module, the
	// same bytes each time, and is called when the plugin is first used.
	Plugins map[string]func() []byte

	// Files are plugins that are loaded from files, by name. A file takes the place of a
	// compiled-in plugin of the same name; an entry without a file only says how the
	// compiled-in plugin is run.
	Files map[string]config.Plugin

	// Worker is a command that passes its stdin and stdout to [RunWorker]: for example the
	// program itself, with an argument that its main looks for before all else. The host
	// compiles modules that are not in Plugins in such processes, which have limits and are
	// killed at a deadline. It also runs plugins with isolation = "process" in them. Without a
	// Worker, such a plugin is an error, and modules are compiled in this process: a module is
	// refused if compiling it would take more than 5 s of one processor.
	Worker []string

	// CompileTimeout bounds how long a Worker may look at and compile a plugin that is not in
	// Plugins. 0 is a minute. It does not count against StartTimeout.
	CompileTimeout time.Duration

	// Streams lead to servers that are part of the program, by name. For an entry with address =
	// "memory:NAME", the transport talks over the byte stream that the function of that name
	// returns, such as one end of a [net.Pipe]. The host calls the function for each connection
	// to the server, perhaps on several goroutines. The function returns when ctx ends; the
	// stream may outlive ctx. The host reads and writes at the same time, and closes the stream,
	// which must end both. A transport can end its own side alone if the stream has a
	// CloseWrite, as those of net do.
	Streams map[string]func(ctx context.Context) (io.ReadWriteCloser, error)

	// Observer, if not nil, sees the requests to servers, and those of the clients of a gateway; see
	// package telemetry.
	Observer observe.Observer

	// CacheDir is the folder that keeps compiled plugins between runs; "" is no cache. Its
	// files are run as native code, so no other user may be able to write to it; see
	// [DefaultCacheDir]. A folder that cannot be written to is not used, and the host warns
	// of it.
	CacheDir string

	// VaultDir is the folder that keeps logins between runs, encrypted; see
	// [vault.DefaultDir]. With "" there is no vault, and a sign-in that needs to keep
	// something fails.
	VaultDir string

	// TrustDir is the folder that keeps the user's decisions about servers that came with
	// a project; see [trust.DefaultDir]. With "" such servers are never used.
	TrustDir string

	// Client describes the program to its servers, and answers their requests. See
	// [Host.AddClient] for a session with a client of its own.
	Client Client

	// Deciders decide who may call what: a request is made if all of them allow it, see package
	// policy. Without one, every caller may call all that the entry of a server permits.
	Deciders []policy.Decider

	// Audit keeps a line for each call, also for those that are denied; nil keeps none. The host
	// closes it.
	Audit *audit.Log

	// Policies are plugins that decide on calls, behind Deciders. A plugin is loaded when it is first asked.
	Policies []config.Policy

	// Confirm asks a person whether a call goes on, if a decider wants that. If Confirm is nil, or returns
	// an error, the call does not. The time that the person takes is not that of the call.
	Confirm func(ctx context.Context, q policy.Question) (bool, error)

	// LookupEnv looks up the variables of entries, as [config.Server.Expand] says; nil is
	// [os.LookupEnv]. For entries of projects it is always [os.LookupEnv], whose values the user
	// has approved.
	LookupEnv func(name string) (string, bool)

	// Folder is where commands of the user's own run whose entry has no dir; "" is the working folder of the program.
	Folder string

	// CatalogueDir is the folder that keeps the lists of servers between runs, for
	// [Session.Known]; "" keeps nothing.
	CatalogueDir string

	// Timeout bounds each request; 0 is 30 s, below zero is no limit.
	Timeout time.Duration

	// StartTimeout bounds the start of a server, from its turn to be dialled until it is ready
	// for calls, without the time in which plugins are loaded. 0 is 60 s, or no limit if Timeout has
	// none; below zero is no limit. The entry of a server may set its own, as for Timeout.
	StartTimeout time.Duration

	// Ping is how long a connected server may be silent before the host asks it for a sign of
	// life. Its answer must come within PingTimeout; after two in a row without one, the server
	// is connected anew. A Ping of 0 is a minute, or never with OneShot; below zero is never. A
	// PingTimeout of 0 is 10 s. The entry of a server may set its own.
	Ping, PingTimeout time.Duration

	// Reconnect is when a server that failed is tried again.
	Reconnect config.Reconnect

	// MaxTimeout bounds a request with progress. Each notification of progress begins its
	// Timeout anew, and leaves MaxTimeout as it is. 0 is an hour, below zero is no limit.
	MaxTimeout time.Duration

	// Print prints the traffic between servers, plugins and the host; nil prints nothing.
	Print *trace.Printer

	// Trace writes all messages to a file; nil writes none. The host does not close it.
	Trace *trace.Recorder

	// Record writes the actions of plugins to a file, for a replay; nil writes nothing. The host
	// does not close it.
	Record *replay.Recorder

	// Stderr gets the text that servers write to their stderr. If it is nil, only errors show the
	// end of that text.
	Stderr io.Writer

	// OneShot ends servers quickly: for commands that print a result and leave.
	OneShot bool

	// StopIdle ends processes that no request has needed for a while, see IdleStop in
	// [config.Server]. The next request starts a process again. A process is kept during a
	// request, a subscription to a resource, or a task.
	StopIdle bool

	// NoValidate calls tools without comparing their arguments and results with
	// their schemas, see [ArgumentError] and [ResultError].
	NoValidate bool

	// The callbacks below, and those of Client, may be called from any goroutine. A callback
	// that asks a person is part of the call that needs the answer. It must not wait for Close
	// of the host: Close ends that call and waits for it.

	// Person lets the person sign in when a call needs it, see [RequestOptions].
	Person *signin.Person

	// Approve shows the person a server that came with a project, and asks whether it may
	// be used. If Approve is nil, only servers that the user has approved before may be
	// used. One question is asked at a time.
	Approve func(ctx context.Context, a trust.Approval) (trust.Decision, error)

	// Input asks the person a question of the file of an entry, see [config.Input]. The
	// vault gets the answer when the server has started with it, and not before: after a start that
	// failed or was cancelled, the next call asks again. One question is asked at a time.
	Input func(ctx context.Context, server string, q config.Input) (string, error)

	// Event hears warnings, and the notifications of sessions whose [Client] does not hear them
	// itself. The notifications of a session come one at a time, and those of each of its
	// connections in order. A bounded queue holds them while Event is busy. Notifications that do
	// not fit are dropped, with a warning. Of those that wait, only the ones from a session's
	// newest two connections are kept.
	Event func(e Event)
}

// Event is a notification of a server, or a warning about a server or a plugin.
type Event struct {
	Server  string
	Method  string          // of a notification; "" for a warning
	Params  json.RawMessage // of a notification
	Warning string          // for people
	Plugin  string          // that a warning is about; "" where it is about none

	// Label and Subscription name the call or the stream that a notification belongs to, if it
	// says so. Label is the label of the call whose progress it reports, see [RequestOptions].
	// Subscription is the [Subscription.ID] of the stream on which a modern server sent it.
	Label, Subscription string

	// Caller is the [RequestOptions].Caller of the calls that a notification may belong to; 0 if
	// that is not certain.
	Caller uint64
}

// Host runs plugins and connects sessions. It must be closed.
type Host struct {
	config   Config
	deciders []policy.Decider // those of Config, and its policies
	modules  *modules.Cache
	dialer   *connect.Dialer
	vault    *vault.Vault // nil without a folder for it
	warnings warningQueue
	store    *catalogue.Store // nil keeps nothing
	saves    saveQueue
	manager  *manager.Manager

	approvals  approvals
	ownedTasks ownedTasks
	unkept     atomic.Bool // the last line of Config.Audit was not written
	cacheless  sync.Once   // warns once, see warnUnkept
	counts     struct{ connected, reconnected, stopped, signIns, signedIn atomic.Uint64 }

	open    context.Context // ends with Close; no wait for a connection outlasts it
	shut    context.CancelCauseFunc
	pending sync.WaitGroup // the operations that begin has admitted

	applying sync.Mutex // held by Apply

	mu        sync.Mutex
	closed    bool
	reconnect config.Reconnect    // of Config or the newest Apply
	servers   map[string]*Session // by name: those of Apply
	sessions  map[*Session]struct{}
}

// NestedEnv is the variable in which a server that is a process learns how many hosts are above it. It ends
// a host that starts itself: see [New].
const NestedEnv = process.NestedEnv

// maxNested is how many hosts may be above a new one.
const maxNested = 4

// New makes a host. It loads no plugin: a session does that when it first needs one. Below [maxNested] hosts,
// each of which is a server of the one above, there is none: one of their entries then leads back to itself.
func New(ctx context.Context, c Config) (*Host, error) {
	if process.Nested() > maxNested {
		return nil, hosterr.Errorf(ErrConfig, "take the entry out that starts this program with that entry as a server",
			"a host is its own server: there are more than %d hosts above this one", maxNested)
	}
	c.Client.name()
	if c.LookupEnv == nil {
		c.LookupEnv = os.LookupEnv
	}
	if c.Timeout == 0 {
		c.Timeout = 30 * time.Second
	}
	if c.Ping == 0 && !c.OneShot {
		c.Ping = time.Minute
	}
	c.PingTimeout = cmp.Or(max(0, c.PingTimeout), 10*time.Second)
	h := &Host{
		config:    c,
		manager:   manager.New(),
		approvals: approvals{asking: ctxmutex.New()},
		store:     catalogue.Open(c.CatalogueDir),
		reconnect: c.Reconnect,
		servers:   make(map[string]*Session),
		sessions:  make(map[*Session]struct{}),
	}
	if c.VaultDir != "" {
		h.vault = vault.Open(vault.Config{Dir: c.VaultDir, Warn: func(text string) { h.warn("", text) }})
	}
	var err error
	h.modules, err = modules.New(ctx, modules.Config{
		Builtin: c.Plugins, Files: c.Files, CacheDir: c.CacheDir, Worker: c.Worker, Timeout: c.CompileTimeout,
		Warn:   func(plugin, text string) { h.warnings.add(Event{Plugin: plugin, Warning: text}) },
		Unkept: func(err error) { h.warnUnkept("", "plugins are compiled anew each time: "+err.Error()) },
	})
	if err != nil {
		return nil, &hosterr.Error{Kind: ErrConfig, Err: err}
	}
	if h.deciders, err = deciders(&c, h.modules, func(text string) { h.warn("", text) }); err != nil {
		return nil, errors.Join(hosterr.Configf("%w", err), h.modules.Close())
	}
	h.dialer = connect.New(connect.Config{
		Modules: h.modules, Vault: h.vault, Streams: c.Streams, LookupEnv: c.LookupEnv, Client: c.Client.Info, Timeout: c.Timeout,
		StartTimeout: c.StartTimeout, OneShot: c.OneShot, Person: c.Person,
		Print: c.Print, Trace: c.Trace, Record: c.Record, Stderr: c.Stderr, Warn: h.warn,
	})
	h.warnings.deliver = h.hear
	h.open, h.shut = context.WithCancelCause(context.WithoutCancel(ctx))
	return h, nil
}

// CheckCache returns an error if a host with this CacheDir cannot keep compiled plugins there. It
// makes dir if it is missing.
func CheckCache(dir string) error { return wasm.CheckCache(dir) }

// DefaultCacheDir returns the folder of the user's caches that belongs to Wharf.
func DefaultCacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "wharf"), nil
}

// Close ends every wait for a connection, closes every session and then the host. The watches of
// [Host.Watch] end too. Close returns when nothing is left. A second Close does nothing.
func (h *Host) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	sessions := slices.Collect(maps.Keys(h.sessions))
	h.mu.Unlock()
	h.shut(ErrClosed)

	err := onAll(sessions, (*Session).Close)
	h.pending.Wait()
	return errors.Join(err, h.manager.Close(), h.dialer.Close(), h.modules.Close(), h.config.Audit.Close())
}

// AwaitEvents waits until Event has returned for all events that have arrived, or until ctx
// ends. Close drops the events that wait. Event must not call AwaitEvents.
func (h *Host) AwaitEvents(ctx context.Context) {
	h.mu.Lock()
	sessions := slices.Collect(maps.Keys(h.sessions))
	h.mu.Unlock()
	for _, s := range sessions {
		s.inner.AwaitHeard(ctx)
	}
	h.warnings.awaitHeard(ctx)
}

// onAll calls f for all sessions at the same time, and returns all errors.
func onAll(sessions []*Session, f func(*Session) error) error {
	var wg sync.WaitGroup
	errs := make([]error, len(sessions))
	for i, s := range sessions {
		wg.Go(func() { errs[i] = f(s) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// begin admits an operation that waits for a connection or for a person, and returns its context.
// The caller calls over at the end of the operation. Close ends the context, and waits until over
// was called.
func (h *Host) begin(ctx context.Context) (bounded context.Context, over func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil, ErrClosed
	}
	h.pending.Add(1)
	ctx, end := within(ctx, h.open)
	return ctx, func() { end(); h.pending.Done() }, nil
}

// within returns a context that ends with ctx, and with [ErrClosed] when life ends.
func within(ctx, life context.Context) (bounded context.Context, over func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(life, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil) }
}

// warn queues a warning. It may be called from anywhere, and returns at once.
func (h *Host) warn(server, text string) {
	h.warnings.add(Event{Server: server, Warning: text})
}

// warnUnkept warns, once, that a folder for what is kept between runs cannot be used. Nothing but time is lost, and
// mostly one reason stands behind all of it.
func (h *Host) warnUnkept(server, text string) {
	h.cacheless.Do(func() { h.warn(server, text) })
}

// Warn passes a warning about a server to [Config.Event], for the person who uses the
// program. It returns at once. If too many warnings wait, some are dropped and counted.
func (h *Host) Warn(server, text string) { h.warn(server, text) }

func (h *Host) hear(e Event) {
	if h.config.Event != nil {
		e.Warning = h.Redact(e.Warning) // a server or a plugin may quote what it was given
		h.config.Event(e)
	}
}

// Observer returns [Config.Observer].
func (h *Host) Observer() observe.Observer { return h.config.Observer }

// Redact returns a text without the secrets of the entries that the host has connected to so
// far, whatever their encoding. Use it for errors that are shown or logged: servers and plugins
// may quote the secrets that they were given. It may be called after Close.
func (h *Host) Redact(text string) string { return h.dialer.Redact(text) }
