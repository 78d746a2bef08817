package capability

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/wharf-mcp/wharf/abi"
)

// StatusOf is what a guest may know of err. All errors of processes, streams and exchanges
// pass here, so that the same break has the same status everywhere. otherwise is the status
// of an error that says nothing about the network.
//
// The order of the cases matters. [abi.Unreachable] tells a guest that nothing was sent, so
// only an error of a dial or of a start has it. An error that ends an established
// connection is [abi.Reset], whatever the system calls it. No error has [abi.Refused]: a
// guest uses it to say that a message may be sent again.
func StatusOf(err error, otherwise abi.Status) abi.Status {
	var stated interface{ Status() abi.Status }
	var dns *net.DNSError
	op := Operation(err)
	switch {
	case errors.As(err, &stated):
		return stated.Status()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded), IsTimeout(err):
		return abi.TimedOut
	case strings.HasSuffix(op, " error"): // crypto/tls: an alert
		return abi.ProtocolFailed
	case op != "" && !slices.Contains(beforeConnection, op):
		return abi.Reset
	case errors.As(err, &dns) && dns.IsNotFound, errors.Is(err, fs.ErrNotExist):
		return abi.NotFound
	case op != "":
		return abi.Unreachable
	case isBreak(err):
		return abi.Reset
	}
	return otherwise
}

// Operation names what the network was doing, or is empty for another error.
func Operation(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Op
	}
	return ""
}

// beforeConnection are the operations before there is a connection: of net, and of
// net/http on the way through a proxy. Any other concerns an established one.
var beforeConnection = []string{"dial", "proxyconnect", "socks connect"}

// isBreak reports whether err is the end of a connection. net/http closes its own side when
// it learns that the server closed the other side, and one error of net/http is known only by
// its text.
func isBreak(err error) bool {
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, os.ErrClosed, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return strings.Contains(err.Error(), "server closed idle connection")
}

// IsTimeout reports whether err is a timeout of the network.
func IsTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// Cause strips what the net and os packages put around a system's error: the
// name of the operation and its target. The caller that wraps the error names both.
func Cause(err error) error {
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

// StatusError is an error with a status of its own for the guest.
type StatusError struct {
	status abi.Status
	text   string
}

// StatusErrorf returns a [StatusError].
func StatusErrorf(status abi.Status, format string, args ...any) *StatusError {
	return &StatusError{status, fmt.Sprintf(format, args...)}
}

func (e *StatusError) Error() string { return e.text }

// Status is what a guest may know of it.
func (e *StatusError) Status() abi.Status { return e.status }
