package stream

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
)

// Address is the grant of one byte stream.
type Address struct {
	Network string   // "unix", "tcp", or "tls" for TLS over TCP
	Addr    string   // an absolute path, "@name" (Linux), or host:port
	TLS     dial.TLS // of the network "tls"
}

// ParseAddress reads the address of a server entry: "unix:/run/x.sock",
// "tcp:127.0.0.1:9000" or "tls:example.com:9000".
func ParseAddress(s string) (Address, error) {
	network, addr, _ := strings.Cut(s, ":")
	var err error
	switch {
	case network != "unix" && network != "tcp" && network != "tls":
		err = fmt.Errorf("want unix:/path/to/socket, tcp:host:port or tls:host:port")
	case strings.HasPrefix(addr, "//"):
		err = fmt.Errorf("write it without slashes: %s:%s", network, strings.TrimPrefix(addr, "//"))
	case network == "unix":
		err = dial.CheckSocketPath(addr)
	default:
		err = checkHostPort(network, addr)
	}
	if err != nil {
		return Address{}, fmt.Errorf("address %q: %w", s, err)
	}
	return Address{Network: network, Addr: addr}, nil
}

// String returns the form that [ParseAddress] reads.
func (a Address) String() string { return a.Network + ":" + a.Addr }

func checkHostPort(network, addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" {
		return fmt.Errorf("want %s:host:port, an IPv6 host in brackets", network)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("the port is %q, it must be a number from 1 to 65535", port)
	}
	return nil
}
