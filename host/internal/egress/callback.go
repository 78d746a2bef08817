package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/httpclient"
)

// Callback receives the browser after a person has signed in: it serves one path on the loopback
// interface (RFC 8252, section 7.3). It is bound before the browser opens, so that no other program
// can take the port, on both addresses that localhost may mean.
//
// Any page of the web and any program on the machine can send it requests. So only the state of a
// visit proves anything, and the caller of Wait must check it. Visits without that state change
// nothing, however many there are.
type Callback struct {
	uri       string
	host      string // as in the header Host
	path      string
	listeners []net.Listener
	server    callbackServer

	unwatch func() bool // stops the end of its context from closing it
	once    sync.Once   // for shut
	closed  chan struct{}

	mu       sync.Mutex
	accept   func(url.Values) bool // nil while no Wait runs
	accepted bool                  // accept has returned true
	done     chan struct{}         // closed when the accepted client has got its page
}

// PortError says that the callback cannot have a port.
type PortError struct {
	Port int // zero if the system was to choose one
	Err  error
}

func (e *PortError) Error() string {
	switch {
	case e.Port == 0:
		return fmt.Sprintf("no port of this machine can be opened for the callback: %v", e.Err)
	case errors.Is(e.Err, fs.ErrPermission):
		return fmt.Sprintf("the port %d is not for this user to open: set the port of the callback in the server entry to one above 1023", e.Port)
	}
	return fmt.Sprintf("the port %d of the callback is taken (%v): end the program that has it, "+
		"or set another port in the server entry, one that the authorization server knows too", e.Port, e.Err)
}

func (e *PortError) Unwrap() error { return e.Err }

// ListenCallback opens a callback, which lasts until Close or until ctx ends. host, "127.0.0.1" or
// "localhost", only goes into its URI; "" stands for "127.0.0.1". With port 0 the system chooses one; a port
// in use is a [*PortError]. The path "" is /callback.
func ListenCallback(ctx context.Context, host string, port int, path string) (*Callback, error) {
	host, path = cmp.Or(host, "127.0.0.1"), cmp.Or(path, "/callback")
	if err := checkCallback(host, port, path); err != nil {
		return nil, fmt.Errorf("open the callback: %w", err)
	}
	listeners, err := listenLoopback(ctx, port)
	if err != nil {
		return nil, fmt.Errorf("open the callback: %w", err)
	}
	port = listeners[0].Addr().(*net.TCPAddr).Port
	c := &Callback{
		host: net.JoinHostPort(host, strconv.Itoa(port)), path: path,
		listeners: listeners, closed: make(chan struct{}), done: make(chan struct{}),
	}
	c.uri = "http://" + c.host + path
	c.server.init(c.respond)
	c.unwatch = context.AfterFunc(ctx, c.shut)
	return c, nil
}

func checkCallback(host string, port int, path string) error {
	u, err := url.Parse(path)
	switch {
	case host != "127.0.0.1" && host != "localhost":
		return ruleErrorf("its host is %q, it can be 127.0.0.1 or localhost", cleantext.Line(host, 64))
	case port < 0 || port > 65535:
		return ruleErrorf("its port is %d, it can be a number from 1 to 65535", port)
	case err != nil || path[0] != '/' || u.Host != "" || u.String() != path || u.EscapedPath() != path || httpclient.CheckPath(u) != nil:
		return ruleErrorf("its path is %q, want one like /callback", cleantext.Line(path, 64))
	}
	return nil
}

// maxPortTries is how many ports are tried until one is free on both addresses.
const maxPortTries = 16

// listenLoopback listens on 127.0.0.1 and ::1, on the same port. Without IPv6 it listens only on
// the first.
func listenLoopback(ctx context.Context, port int) ([]net.Listener, error) {
	var bind net.ListenConfig
	for pick := 1; ; pick++ {
		four, err := bind.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return nil, &PortError{port, capability.Cause(err)}
		}
		same := strconv.Itoa(four.Addr().(*net.TCPAddr).Port)
		six, err := bind.Listen(ctx, "tcp6", net.JoinHostPort("::1", same))
		if err == nil {
			return []net.Listener{four, six}, nil
		}
		if !hasIPv6(ctx) {
			return []net.Listener{four}, nil
		}
		four.Close()
		if port != 0 || pick == maxPortTries {
			return nil, &PortError{port, capability.Cause(err)}
		}
	}
}

// hasIPv6 reports whether ::1 can be bound.
func hasIPv6(ctx context.Context) bool {
	var bind net.ListenConfig
	l, err := bind.Listen(ctx, "tcp6", "[::1]:0")
	if err != nil {
		return false
	}
	l.Close()
	return true
}

// URI returns the redirect URI of the callback.
func (c *Callback) URI() string { return c.uri }

// Wait answers visits until accept returns true for the parameters of one, each of which occurs
// once. Other visits get an error page and change nothing. accept is called once at a time, and not
// after Wait has returned; it must check the state first. When Wait returns without an error, the
// client has its page. Until Close, every further client is told that it is too late.
//
// An error means that no visit was accepted: ctx ended, or the callback was closed. Wait may then
// be called again.
func (c *Callback) Wait(ctx context.Context, accept func(url.Values) bool) error {
	c.mu.Lock()
	c.accept = accept
	c.mu.Unlock()
	c.server.serve(c.listeners)
	var err error
	select {
	case <-c.done:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-c.closed:
		err = net.ErrClosed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accept = nil
	if err == nil || c.accepted {
		return nil
	}
	return fmt.Errorf("wait at %s: %w", c.uri, err)
}

// Close frees the port and closes all connections. It may be called again, but not by accept.
func (c *Callback) Close() error {
	c.unwatch()
	c.shut()
	return nil
}

func (c *Callback) shut() {
	c.once.Do(func() {
		close(c.closed)
		for _, listener := range c.listeners {
			listener.Close()
		}
		c.server.close()
	})
}

// maxQuery bounds the parameters of a visit.
const maxQuery = 8 << 10

// respond returns the page for a visit. after, which may be nil, is called when the client has the
// page.
func (c *Callback) respond(r *http.Request) (p page, after func()) {
	switch {
	case !strings.EqualFold(r.Host, c.host) && !strings.EqualFold(r.Host+":80", c.host):
		return pageBad, nil // another page of the web makes its own name lead here
	case r.URL.EscapedPath() != c.path:
		return pageNone, nil
	case r.Method != "GET":
		return pageMethod, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.accepted {
		return pageTooLate, nil
	}
	params, ok := readParams(r.URL.RawQuery)
	if !ok || c.accept == nil || !c.accept(params) {
		return pageBad, nil
	}
	c.accepted, p = true, pageDone
	if params.Has("error") { // RFC 6749, section 4.1.2.1
		p = pageDenied
	}
	return p, func() { close(c.done) }
}

// readParams reads a query in which each parameter occurs once (RFC 6749, section 3.1); otherwise
// it returns false.
func readParams(query string) (url.Values, bool) {
	if len(query) > maxQuery {
		return nil, false
	}
	params, err := url.ParseQuery(query)
	for _, values := range params {
		if len(values) != 1 {
			return nil, false
		}
	}
	return params, err == nil
}
