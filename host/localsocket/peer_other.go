//go:build !linux && !darwin

package localsocket

import (
	"errors"
	"net"
)

// maxSocketPath is 0: there are no sockets on this system.
const maxSocketPath = 0

func peerUser(*net.UnixConn) (int, error) { return 0, errors.ErrUnsupported }
