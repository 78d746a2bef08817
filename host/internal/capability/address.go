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
	Network string // "unix" or "tcp"
	Addr    string // an absolute path, "@name" (Linux), or host:port
}

// maxSocketPath is what fits into a sockaddr_un everywhere.
const maxSocketPath = 103

// ParseAddress reads the address of a server entry: "unix:/run/x.sock" or
// "tcp:127.0.0.1:9000".
func ParseAddress(s string) (Address, error) {
	network, addr, _ := strings.Cut(s, ":")
	var err error
	switch {
	case strings.HasPrefix(addr, "//"):
		err = fmt.Errorf("write it without slashes: %s:%s", network, strings.TrimPrefix(addr, "//"))
	case network == "unix":
		err = checkSocketPath(addr)
	case network == "tcp":
		err = checkHostPort(addr)
	default:
		err = fmt.Errorf("want unix:/path/to/socket or tcp:host:port")
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

func checkHostPort(addr string) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || host == "" {
		return fmt.Errorf("want tcp:host:port, an IPv6 host in brackets")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("the port is %q, it must be a number from 1 to 65535", port)
	}
	return nil
}
