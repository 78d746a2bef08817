package httpclient

import (
	"net/http"
	"net/textproto"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
)

const (
	maxConns   = 128              // to one server; as many as a guest has handles
	idleConn   = 90 * time.Second // until an unused connection is closed
	wireBuffer = 16 << 10         // of each direction of each connection
)

// client is the part of a table for one HTTP grant: the connections to its server, which are kept
// for reuse, and the parts that all requests share.
type client struct {
	origin *Origin
	limits *capability.Limits
	dialer *dial.Dialer

	once      sync.Once
	prepared  atomic.Bool // prepare has run
	err       error       // why the origin cannot be used; set by once, like the fields below
	transport *http.Transport
	host      string // the Host that the user has configured, or empty

	configured map[string]bool // the headers that the user has configured

	headers atomic.Pointer[http.Header] // of every request; what it points to does not change
	last    atomic.Pointer[wholeHeader] // of the last request that is no upgrade
}

func newClient(o *Origin, limits *capability.Limits) *client {
	c := &client{origin: o, limits: limits, dialer: dial.New(limits.Dial)}
	c.dialer.Socket = o.socket
	c.dialer.Trust(HostPort(o.base))
	return c
}

// prepare makes the client fit for use. It reads files, so the owner of a guest must not call
// it.
func (c *client) prepare() error {
	c.once.Do(func() {
		if err := c.build(); err != nil {
			c.err = capability.StatusErrorf(abi.Internal, "%s", err.Error())
		}
		c.prepared.Store(true)
	})
	return c.err
}

func (c *client) build() error {
	own, err := configuredHeaders(c.origin.Headers)
	if err != nil {
		return err
	}
	c.host = own.Get("Host")
	own.Del("Host")
	c.headers.Store(&own)
	c.configured = map[string]bool{}
	for _, p := range c.origin.Headers {
		c.configured[textproto.CanonicalMIMEHeaderKey(p.Key)] = true
	}
	config, err := c.origin.TLS.Config()
	if err != nil {
		return err
	}
	proxy, err := c.origin.proxy()
	if err != nil {
		return err
	}
	c.transport = &http.Transport{
		Proxy:                  c.trustProxies(proxy),
		DialContext:            c.dialer.Dial,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    c.limits.Dial,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: dial.KeepAlive, PingTimeout: dial.KeepAlive},
		MaxIdleConns:           maxConns,
		MaxIdleConnsPerHost:    maxConns,
		MaxConnsPerHost:        maxConns,
		IdleConnTimeout:        idleConn,
		MaxResponseHeaderBytes: MaxHeadBytes,
		ReadBufferSize:         wireBuffer,
		WriteBufferSize:        wireBuffer,
	}
	return nil
}

// trustProxies exempts the addresses of proxies from the dialer's guard: the user has configured
// them, and most are private.
func (c *client) trustProxies(proxy ProxyFunc) ProxyFunc {
	if proxy == nil {
		return nil
	}
	return func(r *http.Request) (*url.URL, error) {
		u, err := proxy(r)
		if u != nil && err == nil {
			c.dialer.Trust(HostPort(u))
		}
		return u, err
	}
}

// Close implements [capability.Opener]. It closes the connections, used or not.
func (c *client) Close() {
	c.once.Do(func() { c.err = capability.StatusErrorf(abi.Closed, "the connection is closed") })
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
	c.dialer.Close()
}
