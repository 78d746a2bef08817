package egress

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
)

const (
	fetchTime = 10 * time.Second // from the first look-up to the last byte, redirects included
	fetchIdle = 15 * time.Second // until an unused connection is closed
)

// Fetcher makes the exchanges of one auth provider for one server entry: it
// fetches metadata, redeems codes, registers and revokes. It may be used by
// several goroutines, and holds a few connections until Close.
//
// Neither a provider nor what a server told it is trusted. So a provider reaches only what its
// [Policy] allows, each address is checked before the connection, no redirect of Fetch leads to
// another origin, and everything that a server can make long or slow has a bound. No cookie is kept
// or sent.
type Fetcher struct {
	policy   Policy
	resolver *net.Resolver // for tests; nil is the system's

	private atomic.Bool // the server has been found on a private network

	mu     sync.Mutex
	routes map[routeKey]*route
	closed bool
}

// NewFetcher returns a fetcher for a policy, which the caller must not change afterwards.
// An error is one of the configuration.
func NewFetcher(p Policy) (*Fetcher, error) {
	for _, s := range p.Origins {
		u, err := parseURL(s)
		if err == nil && (u.Path != "" || u.RawQuery != "") {
			err = ruleErrorf(`want "https://host" or "https://host:port", without a path`)
		}
		if err != nil {
			return nil, fmt.Errorf("origin %q: %w", httpclient.BareURL(s), err)
		}
	}
	if p.Server != nil {
		if err := p.Server.Check(); err != nil {
			return nil, err
		}
	}
	return &Fetcher{policy: p, routes: map[routeKey]*route{}}, nil
}

// Close ends running exchanges and closes the connections. It may be called again.
func (f *Fetcher) Close() {
	f.mu.Lock()
	routes := f.routes
	f.routes, f.closed = nil, true
	f.mu.Unlock()
	for _, r := range routes {
		r.close()
	}
}

// routeKey says how an origin is reached.
type routeKey struct {
	relation relation
	proxied  bool
}

// route holds the connections to the origins of one routeKey. Routes differ in the guard of their
// addresses and in their TLS name and certificate, so a connection of one route is never used for
// another.
type route struct {
	transport *http.Transport
	dialer    *dial.Dialer
}

func (r *route) close() {
	r.transport.CloseIdleConnections()
	r.dialer.Close()
}
