package dial

import (
	"context"
	"net"
	"sync"
	"syscall"
	"time"
)

// Dialer makes the connections for HTTP, and keeps a list of them: net/http closes some only later
// and waits for none. Close closes those that are left.
type Dialer struct {
	Socket   string        // the unix socket of the server; Dial connects there, whatever its addr
	timeout  time.Duration // from the start of a dial to its outcome
	Guard    Guard         // checks the addresses that are not trusted
	Resolver *net.Resolver // nil for the system's
	ctx      context.Context
	stop     context.CancelFunc

	mu      sync.Mutex
	trusted map[string]bool // the addresses that need not be public
	conns   map[*trackedConn]struct{}
	dials   sync.WaitGroup // grows under mu, until closed
	closed  bool
}

// A Guard returns the check for each address that addr, a host:port, resolves to. The check runs
// before the connection is made; nil allows all addresses.
type Guard func(addr string) Control

// Control is the type of net.Dialer.Control.
type Control = func(network, address string, conn syscall.RawConn) error

// New returns a dialer whose guard is [PublicOnly]. A dial takes at most timeout.
func New(timeout time.Duration) *Dialer {
	d := &Dialer{timeout: timeout, Guard: func(string) Control { return PublicOnly }, trusted: map[string]bool{}, conns: map[*trackedConn]struct{}{}}
	d.ctx, d.stop = context.WithCancel(context.Background())
	return d
}

// Trust exempts a host:port from the guard: the user configured it, and may mean a machine of their
// own. Every other address must be public, unless the dialer has another guard.
func (d *Dialer) Trust(addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trusted[addr] = true
}

// Dial connects to addr, a host:port. The guard checks each address after the name was looked up
// and before the connection is made, so a name that resolves differently the second time gains
// nothing.
func (d *Dialer) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil, net.ErrClosed
	}
	d.dials.Add(1)
	guarded := d.Socket == "" && !d.trusted[addr]
	d.mu.Unlock()
	defer d.dials.Done()
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	nd := net.Dialer{KeepAliveConfig: keepAliveConfig, Resolver: d.Resolver}
	if guarded {
		nd.Control = d.Guard(addr)
	}
	if d.Socket != "" {
		network, addr = "unix", d.Socket
	}
	conn, err := nd.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		conn.Close()
		return nil, net.ErrClosed
	}
	w := &trackedConn{Conn: conn, dialer: d}
	d.conns[w] = struct{}{}
	return w, nil
}

// keepAliveConfig makes a connection fail within a minute after its peer has vanished.
var keepAliveConfig = net.KeepAliveConfig{Enable: true, Idle: KeepAlive, Interval: KeepAlive, Count: 3}

// Close closes every connection and refuses new ones. When it returns, no descriptor is left.
func (d *Dialer) Close() {
	d.mu.Lock()
	d.closed = true
	left := d.conns
	d.conns = map[*trackedConn]struct{}{}
	d.mu.Unlock()
	d.stop()
	d.dials.Wait()
	for w := range left {
		w.Conn.Close()
	}
}

// Conns returns the number of open connections.
func (d *Dialer) Conns() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.conns)
}

// trackedConn is a connection in the list of its dialer.
type trackedConn struct {
	net.Conn
	dialer *Dialer
}

func (w *trackedConn) Close() error {
	w.dialer.mu.Lock()
	delete(w.dialer.conns, w)
	w.dialer.mu.Unlock()
	return w.Conn.Close()
}
