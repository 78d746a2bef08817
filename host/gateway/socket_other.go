//go:build !linux && !darwin

package gateway

import (
	"errors"
	"net"
)

// maxSocketPath is 0: no socket is served.
const maxSocketPath = 0

func peerUser(*net.UnixConn) (int, error) { return 0, errors.ErrUnsupported }
