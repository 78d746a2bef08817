package httpclient

import (
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
	"github.com/wharf-mcp/wharf/host/internal/capability/stream"
)

const (
	maxConns   = 128              // to one server; as many as a guest has handles
	idleConn   = 90 * time.Second // until an unused connection is closed
	wireBuffer = 16 << 10         // of each direction of each connection
)

// client is what a table has for an HTTP grant: the connections to its server,
// which are kept and used again, and what every request is given.
type client struct {
	origin *Origin
	limits *capability.Limits
	dialer *dial.Dialer

	once      sync.Once
	prepared  atomic.Bool // once is over
	err       error       // the origin cannot be used; set by once, like what follows
	transport *http.Transport
	headers   http.Header // of every request
	host      string      // the Host that the user wants to be sent, or empty

	configured map[string]bool // the headers that are the user's
}

func newClient(o *Origin, limits *capability.Limits) *client {
	c := &client{origin: o, limits: limits, dialer: dial.New(limits.Dial)}
	c.dialer.Socket = o.socket
	c.dialer.Trust(HostPort(o.base))
	return c
}

// Open implements [capability.Opener].
func (c *client) Open(g capability.Opening, r *abi.OpenRequest) (capability.Handle, abi.Status, error) {
	q := request{client: c, method: r.Method, upgrade: r.Flags&abi.Upgrade != 0}
	if r.Flags&^(abi.Essential|abi.Upgrade) != 0 {
		return nil, abi.Malformed, fmt.Errorf("flags %#x do not apply to it", r.Flags)
	}
	if status, err := c.origin.checkMethod(&q); err != nil {
		return nil, status, err
	}
	var status abi.Status
	var err error
	if q.url, status, err = c.origin.resolve(c.origin.base, r.Target); err != nil {
		return nil, status, err
	}
	more := len(c.origin.Headers) + 1 // the User-Agent
	if q.header, status, err = requestHeaders(r.Headers, q.upgrade, more); err != nil {
		return nil, status, err
	}
	if !q.upgrade {
		return newExchange(g, q), abi.OK, nil
	}
	if q.header["Upgrade"] == nil {
		return nil, abi.Malformed, fmt.Errorf("the header upgrade is missing: it says what to upgrade to")
	}
	return stream.New(g, q.serve), abi.OK, nil
}

// prepare makes the client fit for use. It reads files, so it is not for the
// owner of a guest to call.
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
	c.headers, c.configured = own, map[string]bool{}
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

// trustProxies makes the addresses of proxies known to the dialer: they are the
// user's, and mostly private.
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

// ProxyFunc picks the proxy of a request; nil, and a nil URL, mean none.
type ProxyFunc = func(*http.Request) (*url.URL, error)

func (o *Origin) proxy() (ProxyFunc, error) {
	if o.socket != "" {
		return nil, nil
	}
	return ParseProxy(o.Proxy)
}

// ParseProxy reads the proxy of a server entry: see [Origin.Proxy].
func ParseProxy(setting string) (ProxyFunc, error) {
	switch setting {
	case "direct":
		return nil, nil
	case "":
		return http.ProxyFromEnvironment, nil
	}
	u, err := url.Parse(setting)
	if err != nil {
		return nil, fmt.Errorf("proxy %q: %w", BareURL(setting), URLCause(err))
	}
	if usualPorts[u.Scheme] == "" || u.Hostname() == "" {
		return nil, fmt.Errorf(`proxy %q: want http://host:port, https://host:port, socks5://host:port or "direct"`, BareURL(setting))
	}
	return http.ProxyURL(u), nil
}
