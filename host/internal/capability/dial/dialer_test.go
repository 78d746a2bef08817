//go:build unix

package dial

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
)

func TestSpecialAddresses(t *testing.T) {
	for _, s := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1",
		"127.255.0.1", "169.254.169.254", "169.254.0.1", "172.16.0.1", "172.31.255.255", "192.0.0.8",
		"192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.19.255.255", "198.51.100.7",
		"203.0.113.9", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::808:808",
		"64:ff9b:1::1", "100::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:10::1",
		"2001:db8::1", "2002:7f00:1::", "2002:a9fe:a9fe::1", "3ffe::1", "3fff::1", "5f00::1", "fc00::1", "fd12:3456::1",
		"fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "2620:4f:8000::1",
	} {
		if Special(netip.MustParseAddr(s)) == "" {
			t.Errorf("%s passes for a public address", s)
		}
	}
	for _, s := range []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.255.255.255",
		"169.253.1.1", "172.15.255.255", "172.32.0.1", "192.167.1.1", "192.169.1.1", "198.17.1.1", "198.20.1.1",
		"223.255.255.255", "2606:4700::1111", "2a00:1450::1", "2001:4860:4860::8888", "2400:cb00::1",
	} {
		if is := Special(netip.MustParseAddr(s)); is != "" {
			t.Errorf("%s passes for a %s address", s, is)
		}
	}
}

// The policy looks at the address that is connected to, whatever name led there.
func TestOnlyTheConfiguredAddressMayBePrivate(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	named, literal := net.JoinHostPort("localhost", port), l.Addr().String()
	d := New(time.Minute)
	defer d.Close()
	var refused *AddressError
	for _, addr := range []string{named, literal} {
		if _, err := d.Dial(t.Context(), "tcp", addr); !errors.As(err, &refused) || capability.StatusOf(err, abi.Internal) != abi.Denied {
			t.Errorf("%s: %v", addr, err)
		}
	}
	d.Trust(named)
	conn, err := d.Dial(t.Context(), "tcp", named)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Dial(t.Context(), "tcp", literal); !errors.As(err, &refused) {
		t.Errorf("another name of the same machine: %v", err)
	}
	conn.Close()
	if len(d.conns) != 0 {
		t.Error("a closed connection is still counted")
	}
}

func TestTheDialerLeavesNothingOpen(t *testing.T) {
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	defer l.Close()
	d := New(time.Minute)
	d.Trust(l.Addr().String())
	conn, err := d.Dial(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	d.Close()
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the connection lives on: %v", err)
	}
	if _, err := d.Dial(context.Background(), "tcp", l.Addr().String()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a dial after the end: %v", err)
	}
}
