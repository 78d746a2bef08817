package capability

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/abi"
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
	limits *Limits
	dialer *dialer

	once      sync.Once
	warm      atomic.Bool // once is over
	err       error       // the origin cannot be used; set by once, like what follows
	transport *http.Transport
	own       http.Header // of every request
	host      string      // the Host that the user wants to be sent, or empty

	configured map[string]bool // the headers that are the user's
}

func newClient(o *Origin, limits *Limits) *client {
	c := &client{origin: o, limits: limits, dialer: newDialer(limits.Dial)}
	c.dialer.socket = o.socket
	c.dialer.trust(hostPort(o.base))
	return c
}

// Open implements [Opener].
func (c *client) Open(g Opening, r *abi.OpenRequest) (Handle, abi.Status, error) {
	q := order{client: c, method: r.Method, upgrade: r.Flags&abi.Upgrade != 0}
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
	if q.header, status, err = guestHeaders(r.Headers, q.upgrade, more); err != nil {
		return nil, status, err
	}
	if !q.upgrade {
		return newExchange(g, q), abi.OK, nil
	}
	if q.header["Upgrade"] == nil {
		return nil, abi.Malformed, fmt.Errorf("the header upgrade is missing: it says what to upgrade to")
	}
	return newHandle(g, q.serve), abi.OK, nil
}

// ready makes the client fit for use. It reads files, so it is not for the
// owner of a guest to call.
func (c *client) ready() error {
	c.once.Do(func() {
		if err := c.build(); err != nil {
			c.err = StatusErrorf(abi.Internal, "%s", err.Error())
		}
		c.warm.Store(true)
	})
	return c.err
}

func (c *client) build() error {
	own, err := ownHeaders(c.origin.Headers)
	if err != nil {
		return err
	}
	c.host = own.Get("Host")
	own.Del("Host")
	c.own, c.configured = own, map[string]bool{}
	for _, p := range c.origin.Headers {
		c.configured[textproto.CanonicalMIMEHeaderKey(p.Key)] = true
	}
	config, err := c.origin.tls()
	if err != nil {
		return err
	}
	proxy, err := c.origin.proxy()
	if err != nil {
		return err
	}
	c.transport = &http.Transport{
		Proxy:                  c.through(proxy),
		DialContext:            c.dialer.dial,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    c.limits.Dial,
		ForceAttemptHTTP2:      true,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: keepAlive, PingTimeout: keepAlive},
		MaxIdleConns:           maxConns,
		MaxIdleConnsPerHost:    maxConns,
		MaxConnsPerHost:        maxConns,
		IdleConnTimeout:        idleConn,
		MaxResponseHeaderBytes: maxHeadBytes,
		ReadBufferSize:         wireBuffer,
		WriteBufferSize:        wireBuffer,
	}
	return nil
}

// through makes the addresses of proxies known to the dialer: they are the
// user's, and mostly private.
func (c *client) through(proxy proxyFunc) proxyFunc {
	if proxy == nil {
		return nil
	}
	return func(r *http.Request) (*url.URL, error) {
		u, err := proxy(r)
		if u != nil && err == nil {
			c.dialer.trust(hostPort(u))
		}
		return u, err
	}
}

// Close implements [Opener]. It closes the connections, used or not.
func (c *client) Close() {
	c.once.Do(func() { c.err = StatusErrorf(abi.Closed, "the connection is closed") })
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
	c.dialer.close()
}

// tls makes the configuration for https.
func (o *Origin) tls() (*tls.Config, error) { return o.TLS.config() }

// config reads the files. The name of the server is only set where it is not
// that of the address.
func (t TLS) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.Name}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the CA file %s: %w", t.CAFile, cause(err))
		}
		if config.RootCAs, err = x509.SystemCertPool(); err != nil {
			config.RootCAs = x509.NewCertPool()
		}
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("the CA file %s holds no certificate in PEM form", t.CAFile)
		}
	}
	if t.CertFile != "" || t.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read the client certificate %q and its key %q: %w", t.CertFile, t.KeyFile, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// proxyFunc picks the proxy of a request; nil, and a nil URL, mean none.
type proxyFunc = func(*http.Request) (*url.URL, error)

func (o *Origin) proxy() (proxyFunc, error) {
	switch {
	case o.Proxy == "direct" || o.socket != "":
		return nil, nil
	case o.Proxy == "":
		return http.ProxyFromEnvironment, nil
	}
	u, err := url.Parse(o.Proxy)
	if err != nil {
		return nil, fmt.Errorf("proxy %q: %w", bare(o.Proxy), wrongURL(err))
	}
	if usualPorts[u.Scheme] == "" || u.Hostname() == "" {
		return nil, fmt.Errorf(`proxy %q: want http://host:port, https://host:port, socks5://host:port or "direct"`, bare(o.Proxy))
	}
	return http.ProxyURL(u), nil
}
