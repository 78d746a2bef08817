package egress

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
)

// route returns the route to u, or an error if u must not be called.
func (f *Fetcher) route(ctx context.Context, u *url.URL) (*route, error) {
	to, err := f.policy.relate(u)
	if err != nil {
		return nil, err
	}
	if to == discovered {
		if err := f.checkHost(ctx, u.Hostname()); err != nil {
			return nil, err
		}
	}
	proxy, err := f.proxy(to, u)
	if err == nil && proxy != nil && to == discovered {
		err = f.checkName(ctx, u, proxy)
	}
	if err != nil {
		return nil, err
	}
	return f.routeFor(routeKey{to, proxy != nil})
}

// checkHost checks the host of a discovered origin before its name is looked up.
func (f *Fetcher) checkHost(ctx context.Context, host string) error {
	if IsLoopback(host) {
		if s := f.policy.Server; s == nil || s.Socket() == "" && !IsLoopback(s.URL().Hostname()) {
			return ruleErrorf("%s is this machine, and only servers that run here may lead to it", host)
		}
		return nil
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return f.checkAddr(ctx, a)
	}
	if isPrivateName(host) && !f.serverIsPrivate(ctx) {
		return ruleErrorf("%s is a name of a private network; only what your configuration names itself may be there", host)
	}
	return nil
}

// CheckPublicHost refuses a host whose name is that of this machine or can only belong to a private
// network. It does not look the name up.
func CheckPublicHost(host string) error {
	f := &Fetcher{}
	return f.checkHost(context.Background(), host)
}

// checkAddr checks an address of a discovered origin.
func (f *Fetcher) checkAddr(ctx context.Context, a netip.Addr) error {
	is := dial.Special(a)
	if is == "" || isPrivate(a) && f.serverIsPrivate(ctx) {
		return nil
	}
	return &dial.AddressError{Addr: a, Is: is}
}

// lookTime bounds the look-up of a name that a proxy will look up for itself.
const lookTime = 2 * time.Second

// checkName looks up the name of a discovered host before a proxy gets it, and refuses the name if
// one of its addresses is refused. It cannot refuse a name that only the proxy knows, or one that
// leads elsewhere when the proxy asks. It refuses a name whose look-up fails, because the server of
// the name can make it fail at will; a user whose machine cannot look names up can grant the origin
// by its name, or write the proxy as socks5h. With socks5h the user wants no look-up here, so
// checkName makes none.
func (f *Fetcher) checkName(ctx context.Context, u, proxy *url.URL) error {
	host := u.Hostname()
	if _, err := netip.ParseAddr(host); err == nil || proxy.Scheme == "socks5h" {
		return nil
	}
	looking, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	addrs, err := cmp.Or(f.resolver, net.DefaultResolver).LookupNetIP(looking, "ip", host)
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return ruleErrorf("the name %s could not be looked up, so it may lead into a private network behind the proxy (%v); if you trust it, grant it: %s",
			host, capability.Cause(err), (&OriginError{originOf(u)}).Line())
	}
	for _, a := range addrs {
		if err := f.checkAddr(ctx, a.Unmap()); err != nil {
			return err
		}
	}
	return nil
}

// proxy returns the proxy on the way to u, or nil. This machine is reached without a proxy,
// because for a proxy localhost is another machine. The exception is a server on this machine
// for which the user configured a proxy.
func (f *Fetcher) proxy(to relation, u *url.URL) (*url.URL, error) {
	if to != ownServer && IsLoopback(u.Hostname()) {
		return nil, nil
	}
	setting := ""
	if s := f.policy.Server; s != nil {
		if setting = s.Proxy; to == ownServer && s.Socket() != "" {
			return nil, nil
		}
	}
	pick, err := httpclient.ParseProxy(setting)
	if pick == nil || err != nil {
		return nil, err
	}
	return pick(&http.Request{URL: u})
}

// routeFor returns the route of a key, and makes it on first use.
func (f *Fetcher) routeFor(c routeKey) (*route, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, net.ErrClosed
	}
	if r := f.routes[c]; r != nil {
		return r, nil
	}
	r, err := f.newRoute(c)
	if err == nil {
		f.routes[c] = r
	}
	return r, err
}

// newRoute makes the route of a key.
func (f *Fetcher) newRoute(c routeKey) (*route, error) {
	config, err := f.tlsConfig(c.relation)
	if err != nil {
		return nil, err
	}
	d := dial.New(fetchTime)
	d.Resolver = f.resolver
	d.Guard = func(addr string) dial.Control {
		host, _, _ := net.SplitHostPort(addr)
		switch {
		case c.proxied:
			return nil // the address belongs to a proxy, which the user configured
		case IsLoopback(host):
			return loopbackOnly
		case c.relation != discovered:
			return nil
		case f.private.Load():
			return publicOrPrivate
		}
		return dial.PublicOnly
	}
	if c.relation == ownServer {
		d.Socket = f.policy.Server.Socket()
	}
	t := &http.Transport{
		DialContext:            d.Dial,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    fetchTime,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           4,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        fetchIdle,
		MaxResponseHeaderBytes: httpclient.MaxHeadBytes,
	}
	if c.proxied {
		t.Proxy = func(r *http.Request) (*url.URL, error) { return f.proxy(c.relation, r.URL) }
	}
	return &route{t, d}, nil
}

// tlsConfig returns the TLS settings for origins of a relation, from those of the server entry. The
// authority is for all origins. The client's certificate is for the server and for the origins that
// the user named. The name in the server's certificate is for the server alone.
func (f *Fetcher) tlsConfig(to relation) (*tls.Config, error) {
	var t dial.TLS
	if f.policy.Server != nil {
		t = f.policy.Server.TLS
	}
	if to != ownServer {
		t.Name = ""
	}
	if to == discovered {
		t.CertFile, t.KeyFile = "", ""
	}
	return t.Config()
}

// serverIsPrivate reports whether the server is on a private network, and remembers that. The
// address of its name alone proves nothing, because a hostile server can point its name anywhere.
// So the server at that address has to prove its identity by TLS.
func (f *Fetcher) serverIsPrivate(ctx context.Context) bool {
	s := f.policy.Server
	if s == nil || s.Socket() != "" || f.private.Load() {
		return f.private.Load()
	}
	a, err := netip.ParseAddr(s.URL().Hostname())
	if err != nil {
		a = f.verifiedAddr(ctx)
	}
	if isPrivate(a) {
		f.private.Store(true)
	}
	return f.private.Load()
}

// verifiedAddr returns the address at which the server proves its identity by its
// certificate, or none. At an address that is not its own, the server has no valid
// certificate.
func (f *Fetcher) verifiedAddr(ctx context.Context) (at netip.Addr) {
	base := f.policy.Server.URL()
	if proxy, err := f.proxy(ownServer, base); proxy != nil || err != nil || base.Scheme != "https" {
		return at
	}
	config, err := f.tlsConfig(ownServer)
	if err != nil {
		return at
	}
	config.ServerName = cmp.Or(config.ServerName, base.Hostname())
	r, err := f.routeFor(routeKey{relation: ownServer})
	if err != nil {
		return at
	}
	conn, err := r.dialer.Dial(ctx, "tcp", httpclient.HostPort(base))
	if err != nil {
		return at
	}
	defer conn.Close()
	if err := tls.Client(conn, config).HandshakeContext(ctx); err != nil {
		return at
	}
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		at = tcp.AddrPort().Addr().Unmap()
	}
	return at
}
