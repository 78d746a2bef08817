package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// ErrClosed is what calls of a closed session end with.
var ErrClosed = errors.New("session is closed")

// ErrLongest says that a request took longer than [Config.MaxTimeout]. It is an [rpc.ErrTimeout].
var ErrLongest = fmt.Errorf("%w", rpc.ErrTimeout)

// Values of [ConnectOptions.Protocol] beside the revisions themselves.
const (
	Auto       = "auto"   // find out, by asking modern first
	LegacyOnly = "legacy" // the newest revision of the legacy era, without asking
)

// Config configures a session. Name, Client and Connections are required.
type Config struct {
	Name        string             // the server's name, for errors
	Client      mcp.Implementation // the name and version of the host
	Connections Connections

	MaxTimeout time.Duration // of a request that reports progress; 0 is 1 h, below 0 is none

	// Capabilities and Extensions are declared in addition to the capabilities of callbacks. Each
	// value is a JSON object with the settings. If a capability also has a callback, it is declared
	// with the settings given here: elicitation then offers the modes that they name, or forms if
	// they name none.
	Capabilities, Extensions map[string]json.RawMessage

	// The callbacks for requests of servers. A nil callback is not advertised, and its requests are
	// refused. Callbacks may run at the same time. In the legacy era their context ends with the
	// connection of the request. In the modern era the answer to a call asks, and their context
	// ends with that call or with the session.
	Elicit func(ctx context.Context, e mcp.Elicitation) (mcp.ElicitResult, error)
	Sample func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)
	Roots  func(ctx context.Context) ([]mcp.Root, error)

	// Handlers answer the requests that have no callback here, keyed by method.
	Handlers map[string]func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

	// Other answers the requests that have no handler; nil refuses them.
	Other func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

	// NoValidate turns off the checks of tool calls against the tools' schemas.
	NoValidate bool

	// Notify receives the server's notifications, in order. caller is the caller of the calls that a
	// notification may belong to, or 0 if that is not certain; see [CallerOf]. Warn receives texts
	// about oddities of the server that did no harm. It must return at once, since a connection may be
	// waiting for it. Both may be nil.
	Notify func(method string, params json.RawMessage, caller uint64)
	Warn   func(text string)

	// Listed is called when the result of [Session.WrittenLists] has changed: a list has come, or is
	// no longer fresh. Changed is called when a known list may differ from the server's; see
	// [Session.Renew]. Both must return at once, and may be nil.
	Listed, Changed func()
}

const (
	probeTimeout        = 2 * time.Second // silence after which a server may be a legacy one
	defaultStartTimeout = 60 * time.Second
	defaultMaxTimeout   = time.Hour

	// closeTimeout bounds how long a connection may take to close in order. A transport has shorter
	// limits of its own. If it exceeds them, whatever is left of it after closeTimeout is killed.
	closeTimeout = 5 * time.Second
)

// Session is a logical connection to one server. Close must be called.
type Session struct {
	cfg         Config // without its client, which is that of represents
	represents  atomic.Pointer[represented]
	toolCache   toolCache // of tools
	resources   listCache[mcp.Resource]
	templates   listCache[mcp.ResourceTemplate]
	prompts     listCache[mcp.Prompt]
	reads       reads
	renewing    ctxmutex.Mutex            // held by Renew
	level       atomic.Pointer[mcp.Level] // the lowest level that the server logs; nil if not set
	trackers    trackers
	subscribers subscribers
	pages       webPages
	taskWaits   taskWaits
	taskStreams chan struct{} // has a token for each stream that tells of a task

	ctx    context.Context // ends with Close, and ends a Connect under way
	cancel context.CancelFunc
	gone   chan struct{} // closed when Close is done

	info    atomic.Pointer[status.Info] // of the newest handshake; nil before the first
	inboxes [2]*inbox                   // of the two newest connections, the newest last; for Connect
	telling chan struct{}               // full while a notification is being passed on

	mu          sync.Mutex
	closing     bool
	detectedEra mcp.Era // the detected era, while it holds
}

// New returns a session without a connection. The first call makes one.
func New(cfg Config) (*Session, error) {
	cfg.MaxTimeout = cmp.Or(cfg.MaxTimeout, defaultMaxTimeout)
	if cfg.Warn == nil {
		cfg.Warn = func(string) {}
	}
	if cfg.Listed == nil {
		cfg.Listed = func() {}
	}
	if cfg.Changed == nil {
		cfg.Changed = func() {}
	}
	if cfg.Notify == nil {
		cfg.Notify = func(string, json.RawMessage, uint64) {}
	}
	s := &Session{cfg: cfg, gone: make(chan struct{}), telling: make(chan struct{}, 1), taskStreams: make(chan struct{}, maxTaskStreams)}
	s.toolCache.listing, s.renewing, s.subscribers.turn = ctxmutex.New(), ctxmutex.New(), ctxmutex.New()
	if err := s.Represent(cfg); err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// represented is the client that a session speaks for: what it declares, and its callbacks.
type represented struct {
	Config
	handshakeParams
}

// Represent has the session speak for another client from its next connection on. Of c, what it declares, and the
// callbacks for requests of servers, count.
func (s *Session) Represent(c Config) error {
	params, err := newHandshakeParams(&c)
	if err != nil {
		return err
	}
	s.represents.Store(&represented{c, params})
	return nil
}

// Info returns what the newest handshake told about the server. It is zero before the first.
func (s *Session) Info() status.Info {
	if i := s.info.Load(); i != nil {
		return *i
	}
	return status.Info{}
}

// Lifetime returns a context that ends with Close.
func (s *Session) Lifetime() context.Context { return s.ctx }

// Close ends the session and its [Connections]. Calls in flight end with an error that is
// [ErrClosed], and so do subscriptions. It may be called at any time, more than once, and from
// callbacks. It does not wait for callbacks to return.
func (s *Session) Close() error {
	s.mu.Lock()
	again := s.closing
	s.closing = true
	s.mu.Unlock()
	if again {
		<-s.gone
		return nil
	}
	defer close(s.gone)
	s.cancel() // first, so that calls end with ErrClosed and not with a lost connection
	err := s.cfg.Connections.Close()
	s.subscribers.mu.Lock()
	s.subscribers.closed = true
	s.subscribers.mu.Unlock()
	s.subscribers.running.Wait()
	return err
}

func (s *Session) isClosed() bool { return s.ctx.Err() != nil }
