package capability

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
)

// Address is the grant of one byte stream.
type Address struct {
	Network string // "unix", "tcp", or "tls" for TLS over TCP
	Addr    string // an absolute path, "@name" (Linux), or host:port
	TLS     TLS    // of the network "tls"
}

// maxSocketPath is what fits into a sockaddr_un everywhere.
const maxSocketPath = 103

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
		err = checkSocketPath(addr)
	default:
		err = checkHostPort(network, addr)
	}
	if err != nil {
		return Address{}, fmt.Errorf("address %q: %w", s, err)
	}
	return Address{Network: network, Addr: addr}, nil
}

// String is the form that [ParseAddress] reads.
func (a Address) String() string { return a.Network + ":" + a.Addr }

// checkSocketPath finds what the system would only call an invalid argument.
func checkSocketPath(path string) error {
	abstract := strings.HasPrefix(path, "@") && len(path) > 1
	switch {
	case path == "":
		return fmt.Errorf("the path of the socket is missing: want unix:/path/to/socket")
	case strings.ContainsRune(path, 0):
		return fmt.Errorf("the path holds a NUL byte")
	case !abstract && !filepath.IsAbs(path):
		return fmt.Errorf("the path of a socket must be absolute: want unix:/path/to/socket")
	case len(path) > maxSocketPath:
		return fmt.Errorf("the path is %d bytes long, a socket's may have %d: use a shorter one", len(path), maxSocketPath)
	}
	return nil
}

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
