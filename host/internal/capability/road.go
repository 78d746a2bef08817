package capability

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// course is how an origin is reached.
type course struct {
	to      relation
	proxied bool
}

// road is what leads to the origins of one course. Roads differ in what is asked
// about an address, and in who is shown which name and certificate, so a
// connection of one is never used for another.
type road struct {
	transport *http.Transport
	dialer    *dialer
}

func (r *road) close() {
	r.transport.CloseIdleConnections()
	r.dialer.close()
}

// road returns the way to u, or why there is none.
func (f *Fetcher) road(ctx context.Context, u *url.URL) (*road, error) {
	to, err := f.reach.relate(u)
	if err != nil {
		return nil, err
	}
	if to == stranger {
		if err := f.checkHost(ctx, u.Hostname()); err != nil {
			return nil, err
		}
	}
	proxy, err := f.proxy(to, u)
	if err == nil && proxy != nil && to == stranger {
		err = f.checkName(ctx, u.Hostname(), proxy)
	}
	if err != nil {
		return nil, err
	}
	return f.open(course{to, proxy != nil})
}

// checkHost looks at the host of a stranger before its name is looked up.
func (f *Fetcher) checkHost(ctx context.Context, host string) error {
	if isLoopback(host) {
		if !f.reach.isLocal() {
			return breaks("%s is this machine, and only servers that run here may lead to it", host)
		}
		return nil
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return f.checkAddr(ctx, a)
	}
	if isInner(host) && !f.isNear(ctx) {
		return breaks("%s is a name of a private network; only what your configuration names itself may be there", host)
	}
	return nil
}

// checkAddr looks at an address of a stranger.
func (f *Fetcher) checkAddr(ctx context.Context, a netip.Addr) error {
	is := special(a)
	if is == "" || isPrivate(a) && f.isNear(ctx) {
		return nil
	}
	return &AddressError{Addr: a, Is: is}
}

// lookTime is how long the names of this machine are asked about a host that a
// proxy will look up for itself.
const lookTime = 2 * time.Second

// checkName looks up a stranger's name that a proxy is about to be given. It is
// refused if one of its addresses is. What cannot be known from here passes: a name
// that only the proxy knows, and one that leads elsewhere when the proxy asks. A
// proxy of socks5h is not only asked to connect but to look up, so that no name
// leaves this machine, and none does.
func (f *Fetcher) checkName(ctx context.Context, host string, proxy *url.URL) error {
	if _, err := netip.ParseAddr(host); err == nil || proxy.Scheme == "socks5h" {
		return nil
	}
	names := f.names
	if names == nil {
		names = net.DefaultResolver
	}
	looking, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	addrs, err := names.LookupNetIP(looking, "ip", host)
	if err != nil {
		return nil
	}
	for _, a := range addrs {
		if err := f.checkAddr(ctx, a.Unmap()); err != nil {
			return err
		}
	}
	return nil
}

// proxy returns the proxy on the way to u, or nil. This machine is reached
// without, unless it is the server and the user says so: that of the proxy would
// be another one.
func (f *Fetcher) proxy(to relation, u *url.URL) (*url.URL, error) {
	if to != own && isLoopback(u.Hostname()) {
		return nil, nil
	}
	var o Origin
	if s := f.reach.Server; s != nil {
		o.Proxy = s.Proxy
		if to == own {
			o.socket = s.socket
		}
	}
	pick, err := o.proxy()
	if pick == nil || err != nil {
		return nil, err
	}
	return pick(&http.Request{URL: u})
}

// open returns the road of a course, and makes it when it is first needed.
func (f *Fetcher) open(c course) (*road, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, net.ErrClosed
	}
	if r := f.roads[c]; r != nil {
		return r, nil
	}
	r, err := f.build(c)
	if err == nil {
		f.roads[c] = r
	}
	return r, err
}

func (f *Fetcher) build(c course) (*road, error) {
	config, err := f.identity(c.to)
	if err != nil {
		return nil, err
	}
	d := newDialer(fetchTime)
	d.names, d.guard = f.names, f.guard(c)
	if c.to == own {
		d.socket = f.reach.Server.socket
	}
	t := &http.Transport{
		DialContext:            d.dial,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    fetchTime,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           4,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        fetchIdle,
		MaxResponseHeaderBytes: maxHeadBytes,
	}
	if c.proxied {
		t.Proxy = func(r *http.Request) (*url.URL, error) { return f.proxy(c.to, r.URL) }
	}
	return &road{t, d}, nil
}

// guard is what the dialer of a course asks about addresses.
func (f *Fetcher) guard(c course) guard {
	return func(addr string) control {
		host, _, _ := net.SplitHostPort(addr)
		switch {
		case c.proxied:
			return nil // the address is that of a proxy, which is the user's
		case isLoopback(host):
			return onlyHere
		case c.to != stranger:
			return nil
		case f.near.Load():
			return publicOrPrivate
		}
		return publicOnly
	}
}

// identity is what of the TLS of the server entry is for origins of a relation:
// the authority for all, our certificate for those that the user named, and the
// other name of the server for the server.
func (f *Fetcher) identity(to relation) (*tls.Config, error) {
	var o Origin
	if f.reach.Server != nil {
		o.TLS = f.reach.Server.TLS
	}
	if to != own {
		o.TLS.Name = ""
	}
	if to == stranger {
		o.TLS.CertFile, o.TLS.KeyFile = "", ""
	}
	return o.tls()
}

// admits reports whether an address that was refused may be called after all,
// since the server itself is on a private network.
func (f *Fetcher) admits(ctx context.Context, err error) bool {
	var refused *AddressError
	return errors.As(err, &refused) && isPrivate(refused.Addr) && f.isNear(ctx)
}

// isNear reports whether the server is on a private network, and remembers it
// if it is. Where its name leads to would prove nothing: a hostile server has its
// name lead to where it wants to look. So it is met there.
func (f *Fetcher) isNear(ctx context.Context) bool {
	s := f.reach.Server
	if s == nil || s.socket != "" || f.near.Load() {
		return f.near.Load()
	}
	a, err := netip.ParseAddr(s.base.Hostname())
	if err != nil {
		a = f.meet(ctx)
	}
	if isPrivate(a) {
		f.near.Store(true)
	}
	return f.near.Load()
}

// meet returns the address at which the server proves by its certificate to be
// itself, or none. It cannot have that at an address which is not its own.
func (f *Fetcher) meet(ctx context.Context) (at netip.Addr) {
	base := f.reach.Server.base
	if proxy, err := f.proxy(own, base); proxy != nil || err != nil || base.Scheme != "https" {
		return at
	}
	config, err := f.identity(own)
	if err != nil {
		return at
	}
	if config.ServerName == "" {
		config.ServerName = base.Hostname()
	}
	r, err := f.open(course{to: own})
	if err != nil {
		return at
	}
	conn, err := r.dialer.dial(ctx, "tcp", hostPort(base))
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
