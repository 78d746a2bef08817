//go:build unix

package egress

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
)

// fakeDNS is a resolver that knows what answers says of a name. It is asked
// once for each family of addresses.
func fakeDNS(answers func(name string, v6 bool) []netip.Addr) *net.Resolver {
	return dnsServer(0, answers)
}

// Codes of answers (RFC 1035, section 4.1.1).
const (
	serverFailure  = 2
	nxDomain       = 3
	notImplemented = 4
	refused        = 5
)

// fails is a resolver whose server answers every question with a code.
func fails(code byte) *net.Resolver {
	return dnsServer(code, func(string, bool) []netip.Addr { return nil })
}

func dnsServer(code byte, answers func(name string, v6 bool) []netip.Addr) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go serveName(theirs, code, answers)
		return ours, nil
	}}
}

// serveName answers one question, framed as over TCP (RFC 1035, section 4.2.2).
func serveName(conn net.Conn, code byte, answers func(string, bool) []netip.Addr) {
	defer conn.Close()
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return
	}
	query := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, query); err != nil {
		return
	}
	var labels []string
	at := 12
	for n := int(query[at]); n > 0; n = int(query[at]) {
		labels = append(labels, string(query[at+1:at+1+n]))
		at += 1 + n
	}
	v6 := query[at+2] == 28 // AAAA
	reply := append([]byte{query[0], query[1], 0x81, 0x80 | code, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:at+5]...)
	for _, a := range answers(strings.Join(labels, "."), v6) {
		if a.Is6() != v6 {
			continue
		}
		reply[7]++
		raw := a.AsSlice()
		reply = append(reply, 0xc0, 12, 0, query[at+2], 0, 1, 0, 0, 0, 0, 0, byte(len(raw)))
		reply = append(reply, raw...)
	}
	conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
}

// leads is a resolver by which every name leads to the same addresses.
func leads(to ...string) *net.Resolver {
	return fakeDNS(func(string, bool) (addrs []netip.Addr) {
		for _, s := range to {
			addrs = append(addrs, netip.MustParseAddr(s))
		}
		return addrs
	})
}

// connects are the addresses that would have been connected to: those that the
// guard let pass. Nothing leaves the machine.
type connects struct {
	mu sync.Mutex
	to []string
}

var errSpied = errors.New("no connection leaves the test")

// spy has a fetcher connect to nothing and write down what it would have.
func spy(t *testing.T, f *Fetcher) *connects {
	t.Helper()
	seen := &connects{}
	for _, c := range []routeKey{{relation: discovered}, {relation: named}, {relation: ownServer}} {
		if c.relation == ownServer && f.policy.Server == nil {
			continue
		}
		r, err := f.routeFor(c)
		if err != nil {
			t.Fatal(err)
		}
		r.dialer.Guard = seen.watch(r.dialer.Guard)
	}
	return seen
}

func (c *connects) watch(inner dial.Guard) dial.Guard {
	return func(addr string) dial.Control {
		ask := inner(addr)
		return func(network, address string, conn syscall.RawConn) error {
			if ask != nil {
				if err := ask(network, address, conn); err != nil {
					return err
				}
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.to = append(c.to, address)
			return errSpied
		}
	}
}

func (c *connects) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := strings.Join(c.to, " ")
	c.to = nil
	return to
}
