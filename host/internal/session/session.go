package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// ErrClosed is what calls of a closed session end with.
var ErrClosed = errors.New("session is closed")

// Values of [Config.Protocol] beside the revisions themselves.
const (
	Auto       = "auto"   // find out, by asking modern first
	LegacyOnly = "legacy" // the newest revision of the legacy era, without asking
)

// Config says what a session is about. Name, Dial and Client are required.
type Config struct {
	Name   string             // the server's name, for errors
	Client mcp.Implementation // what the host calls itself

	// Dial makes a connection whose inbound requests and notifications go to h.
	// It is never called again before the connection it made last is closed.
	// When ctx ends, it gives up and leaves nothing behind.
	Dial func(ctx context.Context, h rpc.Handler) (*Conn, error)

	Protocol string // Auto, LegacyOnly or a revision; "" is Auto

	Timeout      time.Duration // of a request; 0 is the peer's, below is none
	MaxTimeout   time.Duration // of one that tells its progress; 0 is 1 h, below is none
	ProbeTimeout time.Duration // silence after which a server may be a legacy one; 0 is 2 s
	StartTimeout time.Duration // from dialling until a server is ready; 0 is 60 s, below is none

	// What servers may ask for. A nil callback is not advertised, and requests
	// for it are refused. Callbacks may run at the same time. Their context ends
	// with the connection that asked in the legacy era, and in the modern era,
	// where the answer to a call asks, with that call or with the session.
	Elicit func(ctx context.Context, e mcp.Elicitation) (mcp.ElicitResult, error)
	Sample func(ctx context.Context, params json.RawMessage) (json.RawMessage, error)
	Roots  func(ctx context.Context) ([]mcp.Root, error)

	// Notify hears the server's notifications, in order. Warn hears what is odd
	// about the server but did no harm. Both may be nil.
	Notify func(method string, params json.RawMessage)
	Warn   func(text string)
}

const (
	defaultProbeTimeout = 2 * time.Second
	defaultStartTimeout = 60 * time.Second
	defaultMaxTimeout   = time.Hour

	// closeTimeout bounds how long a connection may take to go away. A transport
	// has shorter graces of its own; this is for one that does not keep them.
	closeTimeout = 5 * time.Second
)

func (c *Config) setDefaults() error {
	switch {
	case c.Protocol == "":
		c.Protocol = Auto
	case c.Protocol != Auto && c.Protocol != LegacyOnly && mcp.EraOf(c.Protocol) == "":
		return fmt.Errorf("unknown protocol %q: want %s, %s or one of %s", c.Protocol, Auto, LegacyOnly, spoken)
	}
	if c.ProbeTimeout <= 0 {
		c.ProbeTimeout = defaultProbeTimeout
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = defaultStartTimeout
	}
	if c.MaxTimeout == 0 {
		c.MaxTimeout = defaultMaxTimeout
	}
	if c.Warn == nil {
		c.Warn = func(string) {}
	}
	if c.Notify == nil {
		c.Notify = func(string, json.RawMessage) {}
	}
	return nil
}

// Info is what a server says of itself, and how it is spoken to. Strings and
// capabilities are the server's words.
type Info struct {
	Server       mcp.Implementation
	Protocol     string // the revision in use
	Era          mcp.Era
	Instructions string
	Capabilities json.RawMessage
}

// Session is a logical connection to one server. Close releases it.
type Session struct {
	cfg       Config
	greeting  greeting
	catalogue catalogue // of tools
	resources shelf[mcp.Resource]
	templates shelf[mcp.ResourceTemplate]
	prompts   shelf[mcp.Prompt]
	reads     reads
	level     atomic.Pointer[mcp.Level] // what is to be logged; nil where nobody said
	trackers  trackers
	audience  audience
	pages     webPages

	ctx    context.Context // ends with Close, and with it every attempt to connect
	cancel context.CancelFunc
	gone   chan struct{} // closed when Close is through

	live atomic.Pointer[link] // the newest connection, ended or not; nil before the first

	mu      sync.Mutex
	closed  bool
	attempt *attempt      // the one under way, or nil
	verdict mcp.Era       // what detection found, while it holds
	settled chan struct{} // closed when live changes, and then another
}

// Open connects to the server and returns when it is ready for calls. On an
// error nothing is left behind: Open then returns only after what it had
// started is gone, which a stubborn server can delay by a few seconds.
func Open(ctx context.Context, cfg Config) (*Session, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, fmt.Errorf("connect %s: %w", cfg.Name, err)
	}
	greeting, err := newGreeting(&cfg)
	if err != nil {
		return nil, fmt.Errorf("connect %s: %w", cfg.Name, err)
	}
	s := &Session{cfg: cfg, greeting: greeting, gone: make(chan struct{}), settled: make(chan struct{})}
	s.catalogue.listing, s.audience.turn = make(chan struct{}, 1), make(chan struct{}, 1)
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if _, err := s.reach(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("connect %s: %w", cfg.Name, err)
	}
	return s, nil
}

// Info returns what is known about the server since the newest handshake.
func (s *Session) Info() Info { return s.live.Load().info }

// Close ends the session: calls in flight end with an error that is
// [ErrClosed], as do subscriptions, the connection goes away, and no further one
// is made. It may be
// called at any time, more than once, and from callbacks; it does not wait for
// callbacks to return.
func (s *Session) Close() error {
	s.mu.Lock()
	again, a := s.closed, s.attempt
	s.closed = true
	s.mu.Unlock()
	if again {
		<-s.gone
		return nil
	}
	defer close(s.gone)
	s.cancel()
	if a != nil {
		<-a.done
	}
	var err error
	if l := s.live.Load(); l != nil {
		err = l.conn.close()
	}
	s.audience.wait()
	return err
}

func (s *Session) isClosed() bool { return s.ctx.Err() != nil }
