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

// StatusOf returns the status that a guest gets for err. All errors of processes, streams and
// exchanges pass through it, so that the same failure has the same status everywhere. otherwise is
// the status of an error that is not about the network.
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
	case op != "" && !IsDial(err):
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

// Operation returns the network operation that failed with err, such as "dial", or "" for an error
// of no operation.
func Operation(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Op
	}
	return ""
}

// IsDial reports whether err is of an operation before there was a connection.
func IsDial(err error) bool { return slices.Contains(beforeConnection, Operation(err)) }

// beforeConnection holds the operations that come before there is a connection: those of net, and
// those of net/http with a proxy. Any other concerns an established connection.
var beforeConnection = []string{"dial", "proxyconnect", "socks connect"}

// isBreak reports whether err says that a connection has ended. net/http closes its own side when
// it learns that the server closed the other. One of its errors can be known only by the text.
func isBreak(err error) bool {
	ends := []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, os.ErrClosed, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE}
	return slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) }) ||
		strings.Contains(err.Error(), "server closed idle connection")
}

// IsTimeout reports whether err is a timeout of the network.
func IsTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// Cause removes what the net and os packages put around a system error: the name of the operation
// and its target. The caller that wraps the error must name both.
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

// Status returns the status for the guest.
func (e *StatusError) Status() abi.Status { return e.status }
