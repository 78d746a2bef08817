package capability

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// dialer makes the connections that HTTP runs over, and knows which there are:
// net/http closes some of them in its own time, and close waits for none.
type dialer struct {
	socket  string        // of a server behind a unix socket; the address asked for is then only a name
	timeout time.Duration // from the start of a dial to its outcome
	guard   guard         // of the addresses that are not trusted
	names   *net.Resolver // nil for the system's
	life    context.Context
	die     context.CancelFunc

	mu     sync.Mutex
	home   map[string]bool // the addresses that may be anywhere
	wires  map[*wire]struct{}
	dials  sync.WaitGroup // grows under mu, while life lasts
	closed bool
}

// A guard returns what is asked about each address that addr, a host:port, leads
// to, before anything is sent there; nil lets all of them pass.
type guard func(addr string) control

// control is what net.Dialer calls so.
type control = func(network, address string, conn syscall.RawConn) error

func newDialer(timeout time.Duration) *dialer {
	d := &dialer{timeout: timeout, guard: func(string) control { return publicOnly }, home: map[string]bool{}, wires: map[*wire]struct{}{}}
	d.life, d.die = context.WithCancel(context.Background())
	return d
}

// trust exempts a host:port from the guard: the user wrote it down, and may mean
// a machine of their own. Every other address has to be a public one, unless the
// dialer has another guard.
func (d *dialer) trust(addr string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.home[addr] = true
}

// dial connects to addr, a host:port. Whether the policy allows it is asked for
// each address that is about to be connected to, after the name was looked up:
// a name that leads elsewhere the second time gains nothing by it.
func (d *dialer) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	home, err := d.begin(addr)
	if err != nil {
		return nil, err
	}
	defer d.dials.Done()
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	defer context.AfterFunc(d.life, cancel)()
	nd := net.Dialer{KeepAliveConfig: probes, Resolver: d.names}
	switch {
	case d.socket != "":
		network, addr = "unix", d.socket
	case !home:
		nd.Control = d.guard(addr)
	}
	conn, err := nd.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return d.adopt(conn)
}

// probes find a peer that vanished without a word within a minute.
var probes = net.KeepAliveConfig{Enable: true, Idle: keepAlive, Interval: keepAlive, Count: 3}

func (d *dialer) begin(addr string) (home bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false, net.ErrClosed
	}
	d.dials.Add(1)
	return d.home[addr] || d.socket != "", nil
}

func (d *dialer) adopt(conn net.Conn) (net.Conn, error) {
	w := &wire{Conn: conn, dialer: d}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		conn.Close()
		return nil, net.ErrClosed
	}
	d.wires[w] = struct{}{}
	return w, nil
}

// close closes every connection and lets no more be made. When it returns, no
// descriptor is left.
func (d *dialer) close() {
	d.mu.Lock()
	d.closed = true
	left := d.wires
	d.wires = map[*wire]struct{}{}
	d.mu.Unlock()
	d.die()
	d.dials.Wait()
	for w := range left {
		w.Conn.Close()
	}
}

// wire is a connection that its dialer knows of.
type wire struct {
	net.Conn
	dialer *dialer
}

func (w *wire) Close() error {
	w.dialer.mu.Lock()
	delete(w.dialer.wires, w)
	w.dialer.mu.Unlock()
	return w.Conn.Close()
}

// AddressError is the error of a dial that the policy forbids: a name that
// somebody else gave led into a network that is not public.
type AddressError struct {
	Addr netip.Addr
	Is   string // what kind of address it is
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("the name leads to %s, a %s address; only what your configuration names itself may be there", e.Addr, e.Is)
}

// Status is what a guest may know of it.
func (*AddressError) Status() abi.Status { return abi.Denied }

// publicOnly is a Control of net.Dialer.
func publicOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %q: %w", address, err)
	}
	if is := special(at.Addr()); is != "" {
		return &AddressError{Addr: at.Addr(), Is: is}
	}
	return nil
}
