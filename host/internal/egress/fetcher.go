package egress

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
)

const (
	fetchTime = 10 * time.Second // from the first look-up to the last byte, redirects included
	fetchIdle = 15 * time.Second // until an unused connection is closed
)

// Fetcher makes the exchanges of one auth provider for one server entry: it
// fetches metadata, redeems codes, registers and revokes. It may be used by
// several goroutines, and holds a few connections until Close.
//
// A provider is not trusted, and what it was told by a server even less. So it
// reaches what its [Policy] says, each address is looked at when it is about to
// be connected to, nothing goes elsewhere by a redirect, and whatever a server
// can make long or slow has a bound. No cookie is kept, and none is passed on.
type Fetcher struct {
	policy   Policy
	resolver *net.Resolver // for tests; nil is the system's

	private atomic.Bool // the server was met on a private network

	mu     sync.Mutex
	routes map[routeKey]*route
	closed bool
}

// NewFetcher returns a fetcher for a reach, which must not be changed after it.
// An error is one of the configuration.
func NewFetcher(reach Policy) (*Fetcher, error) {
	if err := reach.check(); err != nil {
		return nil, err
	}
	if reach.Server != nil {
		if err := reach.Server.Check(); err != nil {
			return nil, err
		}
	}
	return &Fetcher{policy: reach, routes: map[routeKey]*route{}}, nil
}

// Close ends the exchanges under way and closes the connections. It may be
// called again.
func (f *Fetcher) Close() {
	f.mu.Lock()
	roads := f.routes
	f.routes, f.closed = nil, true
	f.mu.Unlock()
	for _, r := range roads {
		r.close()
	}
}

// routeKey says how an origin is reached.
type routeKey struct {
	relation relation
	proxied  bool
}

// route has the connections to the origins of one routeKey. Routes differ in the guard
// of their addresses and in the TLS name and certificate that they show, so a
// connection of one is never used for another.
type route struct {
	transport *http.Transport
	dialer    *dial.Dialer
}

func (r *route) close() {
	r.transport.CloseIdleConnections()
	r.dialer.Close()
}
