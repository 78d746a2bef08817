package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host"
	"github.com/wharf-mcp/wharf/host/internal/connect"
	"github.com/wharf-mcp/wharf/host/internal/ctxcond"
	"github.com/wharf-mcp/wharf/host/internal/rpc"
	"github.com/wharf-mcp/wharf/host/mcp"
	"github.com/wharf-mcp/wharf/host/policy"
)

// Config says what a gateway serves.
type Config struct {
	// Servers are the entries of the servers that clients reach. No two have the same name.
	// Lists of all servers have their order. Over HTTP each also has a path of its own.
	Servers []host.Server

	// Bare connects a client on a stream directly to the only server, without changed names. If
	// Bare is false, a client on a stream reaches all servers as one.
	Bare bool

	// SameEra says that servers speak both eras. A server whose entry names no protocol is spoken to in the era of
	// the client then.
	SameEra bool

	// Info is the serverInfo of all servers as one. Its name is "wharf" unless it is given.
	Info mcp.Implementation

	// Search says whether clients of all servers as one search for tools in place of a full
	// list: "on" always, "auto" if the list has more than about 10,000 tokens, "off" or "" never.
	Search string

	// ListWait is how long a client of all servers as one waits, from its first request for
	// a list, for servers whose list was not fetched yet, and how long a stream of such a client
	// waits for servers that have not agreed to report changes. 0 is eight seconds.
	ListWait time.Duration

	// Linger is how long a session with a server goes on when the last of the clients that may
	// use it has left, so that the next one finds the server running. 0 ends it at once. While the server
	// runs a task of a client that has left, or keeps its outcome, the session goes on, for TaskTime at most
	// after the task began.
	Linger, TaskTime time.Duration

	// Hold is called when a session without a client begins to be kept for a task, and release when it
	// is not any more. Neither may call the gateway. It may be nil.
	Hold func() (release func())

	// Transport is the plugin that frames the messages of clients on streams; "" is stdio.
	// Framing is the plugin's setting of that name; with "", stdio uses the framing of the
	// client.
	Transport, Framing string

	// Principal returns the name of the principal that sent a request. If it returns an
	// error, the request is answered with 401, or as a [Refusal] says. The name "" is the user who runs the
	// program; if Principal is nil, all requests come from that user.
	//
	// Two principals never share a session. Questions and answers, progress, log messages,
	// parked calls and a requestState reach no other principal than the one whose request
	// they belong to.
	//
	// A server sees all principals as one account, that of its entry. So principals share
	// what it keeps for an account: its resources and, unless the host has Deciders, its
	// tasks, for each that knows the id of one. They also share what it has said of itself in the handshake of any session or
	// run, but no lists: each client of a principal with a name gets what servers list to it.
	// The clients of the user that reach all servers as one share the newest list of any of
	// them; one that reaches a server bare gets its own list.
	Principal func(*http.Request) (string, error)

	// Metrics, if not nil, answers GET /metrics of the user who runs the program. Other principals
	// get 404.
	Metrics http.Handler

	// CallsPerMinute is how many requests over HTTP each principal may send in a minute; each
	// message of a batch is one. More are answered with 429. 0 is any number, and so has the user
	// who runs the program.
	CallsPerMinute int

	// Hint, if not nil, returns what clients are told in place of a hint of the host. The host names commands
	// without the flags by which the program that runs the gateway was started, such as --config.
	Hint func(string) string

	// OnClient, if not nil, is told of each client with its first request, and again when it has left. It
	// must not wait, and must not call the gateway.
	OnClient func(c Client, left bool)

	// WellKnown answers requests to paths below /.well-known/ in place of the gateway, also those
	// that Principal would refuse. With nil, these paths are like any that the gateway does not know.
	WellKnown http.Handler

	// Hosts are further host names, without ports, by which clients may reach
	// [Gateway.Handler]. The names of the loopback interface are always allowed.
	Hosts []string
}

const listWait = 8 * time.Second // what Config.ListWait is by default

// Gateway serves clients. Its methods may be called from any goroutine.
type Gateway struct {
	host    *host.Host
	config  Config
	info    json.RawMessage // Config.Info
	sealer  *stateSealer
	servers *serverCache // for the clients of the user who runs the program
	copies  copies
	lacking lacking

	lastCall atomic.Uint64 // numbers the calls that can be parked, of all clients: a requestState names one
	counts   counts

	parkTime time.Duration // how long a client may take to answer a question

	presentMu sync.Mutex
	present   map[*presence]struct{} // the clients that are there

	changingAccess sync.Mutex // see ChangeAccess
	accessChanges  uint64     // how many there have been; guarded by changingAccess

	ctx     context.Context // ends with Close
	cancel  context.CancelCauseFunc
	clients sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	finishing bool         // no more requests are taken
	answering int          // requests under way, without those that listen
	quiet     ctxcond.Cond // answering has become 0
}

// New returns a gateway to servers. It starts no server: a server starts when a client needs it.
// The caller closes the gateway before the host.
func New(h *host.Host, c Config) (*Gateway, error) {
	if c.Bare && len(c.Servers) != 1 {
		return nil, fmt.Errorf("gateway: Config.Servers has %d entries, and a bare client reaches one", len(c.Servers))
	}
	if !slices.Contains([]string{"", searchOff, searchAuto, searchOn}, c.Search) {
		return nil, fmt.Errorf("gateway: Config.Search is %q; expected on, auto or off", c.Search)
	}
	for i, s := range c.Servers {
		if s.Name == "" || slices.ContainsFunc(c.Servers[:i], func(other host.Server) bool { return other.Name == s.Name }) {
			return nil, fmt.Errorf("gateway: the name %q of an entry in Config.Servers is empty, or there twice", s.Name)
		}
	}
	seal, err := newStateSealer()
	if err != nil {
		return nil, err
	}
	c.ListWait, c.Info.Name = cmp.Or(c.ListWait, listWait), cmp.Or(c.Info.Name, "wharf")
	info, err := json.Marshal(c.Info)
	if err != nil {
		return nil, fmt.Errorf("gateway: Config.Info: %w", err)
	}
	g := &Gateway{host: h, config: c, info: info, sealer: seal, parkTime: parkTime, present: make(map[*presence]struct{})}
	g.ctx, g.cancel = context.WithCancelCause(context.Background())
	g.copies.gateway, g.copies.idle = g, copyIdle
	g.servers = newServerCache(g, false)
	return g, nil
}

// server returns the entry of the server with a name.
func (g *Gateway) server(name string) (s host.Server, found bool) {
	at := slices.IndexFunc(g.config.Servers, func(s host.Server) bool { return s.Name == name })
	if at < 0 {
		return s, false
	}
	return g.config.Servers[at], true
}

// ServeConn serves one client over a stream, and closes the stream. It returns when the client has
// ended its side and has all its answers, when the stream breaks, or when ctx or the gateway ends. Requests
// that are under way then are answered as those of [Gateway.Close], and so are those that take longer than
// three seconds once the client has ended its side, its servers are started and no person is signing in. An
// error says why the stream broke. When ServeConn returns, all calls and subscriptions of the client have ended. All clients on streams
// are one principal; the entries of servers say whether they share sessions.
func (g *Gateway) ServeConn(ctx context.Context, stream io.ReadWriteCloser) error {
	serverName, kind := "", policy.Gateway
	if g.config.Bare {
		serverName, kind = g.config.Servers[0].Name, policy.Bridge
	}
	return g.serveConn(ctx, stream, serverName, origin{principal: streamPrincipal, kind: kind})
}

// ServeBare serves one client as [Gateway.ServeConn] does, connected directly to the server with a
// name. Clients with inTurn set are runs of one program of the user, which do without sessions of their
// own: one run may get the session that an earlier one has left, with what the server keeps there.
func (g *Gateway) ServeBare(ctx context.Context, stream io.ReadWriteCloser, server string, inTurn bool) error {
	if _, found := g.server(server); !found {
		stream.Close()
		return fmt.Errorf("gateway: no server is called %q", server)
	}
	kind := policy.Bridge
	if inTurn {
		kind = policy.Command
	}
	return g.serveConn(ctx, stream, server, origin{principal: streamPrincipal, kind: kind, inTurn: inTurn})
}

func (g *Gateway) serveConn(ctx context.Context, stream io.ReadWriteCloser, serverName string, o origin) error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		stream.Close()
		return ErrClosed
	}
	g.clients.Add(1)
	g.mu.Unlock()
	defer g.clients.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(g.ctx, func() { cancel(ErrClosed) })()

	var leaving sync.WaitGroup
	defer leaving.Wait()
	served, leave := context.WithCancelCause(context.WithoutCancel(ctx)) // ends after the last answers
	defer leave(nil)
	c := newClientConn(served, g, o, serverName)
	defer c.leave()
	a, err := g.host.Accept(ctx, connect.Accept{
		Name: "client", Transport: g.config.Transport, Framing: g.config.Framing, Stream: stream, Handler: c,
		Begin: func(peer *rpc.Peer) { c.peer = peer },
	})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() {
		why := ErrClosed
		if context.Cause(ctx) == errEndedSide {
			why = errEndedSide
		}
		endRequests(a.Peer, why)
		leave(context.Cause(ctx))
	})()
	return a.Await(served, func() {
		c.inputEnded()
		leaving.Go(func() {
			if awaitLeaving(served, g.delayed) == nil {
				cancel(errEndedSide)
			}
		})
	})
}

// Era returns the era of a server, from a session with it or from what is known of an earlier one, or
// "". It starts no server.
func (g *Gateway) Era(server string) mcp.Era {
	for _, c := range g.copies.of(server) {
		if era := c.session.Info().Era; era != "" {
			return era
		}
	}
	if _, found := g.server(server); found {
		return g.servers.snapshot(server).Info.Era
	}
	return ""
}

// Close ends all clients. Their requests that are under way are cancelled, and answered with an error that
// says that the gateway is ending. Close returns when all calls, subscriptions and sessions have ended.
func (g *Gateway) Close() error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.cancel(ErrClosed)
	g.clients.Wait()
	g.copies.endUnused()
	return nil
}
