package session

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/ctxmutex"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/status"
)

// ErrClosed is what calls of a closed session end with.
var ErrClosed = errors.New("session is closed")

// Values of [ConnectOptions.Protocol] beside the revisions themselves.
const (
	Auto       = "auto"   // find out, by asking modern first
	LegacyOnly = "legacy" // the newest revision of the legacy era, without asking
)

// Config says what a session is about. Name, Client and Connections are required.
type Config struct {
	Name        string             // the server's name, for errors
	Client      mcp.Implementation // what the host calls itself
	Connections Connections

	MaxTimeout time.Duration // of a request that tells its progress; 0 is 1 h, below 0 is none

	// Capabilities and Extensions are declared in addition to the capabilities of callbacks,
	// each with its settings, a JSON object. A capability that also has a callback is
	// declared with the settings given here: elicitation then offers the modes that they
	// name, and forms if they name none.
	Capabilities, Extensions map[string]json.RawMessage

	// What servers may ask for. A nil callback is not advertised, and requests for it are
	// refused. Callbacks may run at the same time. In the legacy era their context ends with
	// the connection that asked. In the modern era the answer to a call asks, and their
	// context ends with that call or with the session.
	Elicit func(ctx context.Context, e mcp.Elicitation) (mcp.ElicitResult, error)
	Sample func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)
	Roots  func(ctx context.Context) ([]mcp.Root, error)

	// Handlers answer requests for which there is no callback, by method.
	Handlers map[string]func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)

	// NoValidate calls tools without a look at their schemas.
	NoValidate bool

	// Notify hears the server's notifications, in order. Warn hears what is odd
	// about the server but did no harm; it returns at once, since a connection may be
	// waiting for it. Both may be nil.
	Notify func(method string, params json.RawMessage)
	Warn   func(text string)

	// Listed hears that [Session.Written] returns something else from now on: a list has
	// come, or is not fresh any more. Changed hears that a known list may no longer be the
	// server's; see [Session.Renew]. Both return at once, and may be nil.
	Listed, Changed func()
}

const (
	probeTimeout        = 2 * time.Second // silence after which a server may be a legacy one
	defaultStartTimeout = 60 * time.Second
	defaultMaxTimeout   = time.Hour

	// closeTimeout bounds how long a connection may take to close in order. A transport has
	// shorter limits of its own for that. If it does not keep them, what it has left is
	// killed after closeTimeout.
	closeTimeout = 5 * time.Second
)

// Session is a logical connection to one server. Close releases it.
type Session struct {
	cfg             Config
	handshakeParams handshakeParams
	toolCache       toolCache // of tools
	resources       listCache[mcp.Resource]
	templates       listCache[mcp.ResourceTemplate]
	prompts         listCache[mcp.Prompt]
	reads           reads
	renewing        ctxmutex.Mutex            // held by Renew
	level           atomic.Pointer[mcp.Level] // from which the server logs; nil where that was not set
	trackers        trackers
	subscribers     subscribers
	pages           webPages
	taskWaits       taskWaits
	taskStreams     chan struct{} // has a token for each stream that tells of a task

	ctx    context.Context // ends with Close, and with it a Connect under way
	cancel context.CancelFunc
	gone   chan struct{} // closed when Close is through

	info    atomic.Pointer[status.Info] // of the newest handshake; nil before the first
	inboxes [2]*inbox                   // of the newest connections, the last one last; for Connect
	telling chan struct{}               // full while a notification is passed on

	mu          sync.Mutex
	closing     bool
	detectedEra mcp.Era // what detection found, while it holds
}

// New returns a session without a connection: the first call has one made.
func New(cfg Config) (*Session, error) {
	if cfg.MaxTimeout == 0 {
		cfg.MaxTimeout = defaultMaxTimeout
	}
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
		cfg.Notify = func(string, json.RawMessage) {}
	}
	handshakeParams, err := newHandshakeParams(&cfg)
	if err != nil {
		return nil, err
	}
	s := &Session{cfg: cfg, handshakeParams: handshakeParams, gone: make(chan struct{}), telling: make(chan struct{}, 1), taskStreams: make(chan struct{}, maxTaskStreams)}
	s.toolCache.listing, s.renewing, s.subscribers.turn = ctxmutex.New(), ctxmutex.New(), ctxmutex.New()
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Info returns what is known about the server since the newest handshake. Before
// the first that is nothing.
func (s *Session) Info() status.Info {
	if i := s.info.Load(); i != nil {
		return *i
	}
	return status.Info{}
}

// Lifetime returns a context that ends with Close.
func (s *Session) Lifetime() context.Context { return s.ctx }

// Close ends the session and its [Connections]: calls in flight end with an error that
// is [ErrClosed], as do subscriptions. It may be called at any time, more than once,
// and from callbacks; it does not wait for callbacks to return.
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
