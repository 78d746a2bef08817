package capability

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"

	"github.com/wharf-mcp/wharf/abi"
)

// statusOf is what a guest may know of err.
func statusOf(err error) abi.Status {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound, errors.Is(err, fs.ErrNotExist):
		return abi.NotFound
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return abi.TimedOut
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrUnexpectedEOF):
		return abi.Reset
	}
	return abi.Unreachable
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// cause strips what the net and os packages put around a system's error: the
// name of the operation and its target are said by whoever wraps it here.
func cause(err error) error {
	var call *os.SyscallError
	var op *net.OpError
	var path *fs.PathError
	switch {
	case errors.As(err, &call):
		return call.Err
	case errors.As(err, &op):
		return op.Err
	case errors.As(err, &path):
		return path.Err
	}
	return err
}
