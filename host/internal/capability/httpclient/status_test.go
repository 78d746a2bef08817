package httpclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
)

// chains are errors as the standard library builds them, by what they are about.
// A name of an operation is that of the net.OpError.
var chains = []struct {
	name string
	err  error
	want abi.Status
}{
	{"write: closed by net/http", &net.OpError{Op: "write", Net: "tcp", Err: net.ErrClosed}, abi.Reset},
	{"read: closed by net/http", &net.OpError{Op: "read", Net: "tcp", Err: net.ErrClosed}, abi.Reset},
	{"read: reset", &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}, abi.Reset},
	{"write: broken pipe", &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}, abi.Reset},
	{"write: aborted", &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.ECONNABORTED)}, abi.Reset},
	{"read: no route any more", &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.EHOSTUNREACH)}, abi.Reset},
	{"write: network down", &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.ENETDOWN)}, abi.Reset},
	{"readfrom: end", &net.OpError{Op: "readfrom", Net: "tcp", Err: io.EOF}, abi.Reset},
	{"read: timed out", &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ETIMEDOUT)}, abi.TimedOut},
	{"read: deadline", &net.OpError{Op: "read", Net: "tcp", Err: os.ErrDeadlineExceeded}, abi.TimedOut},
	{"end", io.EOF, abi.Reset},
	{"end in the middle", fmt.Errorf("read body: %w", io.ErrUnexpectedEOF), abi.Reset},
	{"closed", net.ErrClosed, abi.Reset},
	{"idle connection", errors.New("http: server closed idle connection"), abi.Reset},

	{"dial: refused", &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, abi.Unreachable},
	{"dial: no route", &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, abi.Unreachable},
	{"dial: reset", &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNRESET)}, abi.Unreachable},
	{"dial: closed", &net.OpError{Op: "dial", Net: "tcp", Err: net.ErrClosed}, abi.Unreachable},
	{"dial: timed out", &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ETIMEDOUT)}, abi.TimedOut},
	{"dial: deadline", &net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded}, abi.TimedOut},
	{"dial: no such name", &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", IsNotFound: true}}, abi.NotFound},
	{"dial: names time out", &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "timeout", IsTimeout: true}}, abi.TimedOut},
	{"dial: names fail", &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "server misbehaving"}}, abi.Unreachable},
	{"dial: no socket", &net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.ENOENT)}, abi.NotFound},
	{"dial: forbidden", &net.OpError{Op: "dial", Net: "tcp", Err: &dial.AddressError{Addr: netip.MustParseAddr("10.0.0.1"), Is: "private"}}, abi.Denied},
	{"proxyconnect", &net.OpError{Op: "proxyconnect", Net: "tcp", Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}}, abi.Unreachable},
	{"socks connect", &net.OpError{Op: "socks connect", Net: "tcp", Err: errors.New("unknown error host unreachable")}, abi.Unreachable},

	{"remote error", &net.OpError{Op: "remote error", Err: tls.AlertError(42)}, abi.ProtocolFailed},
	{"local error", &net.OpError{Op: "local error", Err: tls.AlertError(42)}, abi.ProtocolFailed},
	{"a refusal", &Refusal{HTTP: 401}, abi.Denied},
	{"a late answer", &phaseTimeout{forHead, 1}, abi.TimedOut},
	{"a stall", &phaseTimeout{forUpload, 1}, abi.Stalled},

	{"read of a pipe that was closed", &fs.PathError{Op: "read", Path: "|0", Err: os.ErrClosed}, abi.Reset},
	{"no such program", &exec.Error{Name: "nothing", Err: fs.ErrNotExist}, abi.NotFound},
	{"nothing known", errors.New("malformed HTTP response"), abi.Internal},
}

// TestStatusOf asks for the status of each chain as it is and as it arrives: with
// words around it, and behind what net/http says first.
func TestStatusOf(t *testing.T) {
	for _, c := range chains {
		for _, err := range []error{c.err, fmt.Errorf("POST http://127.0.0.1/: %w", c.err), fmt.Errorf("net/http: HTTP/1.x transport connection broken: %w", c.err)} {
			if got := capability.StatusOf(err, abi.Internal); got != c.want {
				t.Errorf("%s: %v has the status %v, want %v", c.name, err, got, c.want)
			}
		}
	}
}

// A status that says that nothing was sent makes some guests send again, so a
// connection that stood never has one; and the word that a message may be sent
// again is the guest's, never the host's.
func TestNoBreakSaysThatNothingWasSent(t *testing.T) {
	for e := syscall.Errno(1); e < 134; e++ {
		for _, op := range []string{"read", "write", "close", "readfrom", "writeto", "writev", "set", "something new"} {
			err := &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, e)}
			switch got := capability.StatusOf(err, abi.Internal); got {
			case abi.Reset, abi.TimedOut:
			default:
				t.Errorf("%v has the status %v", err, got)
			}
		}
	}
	for _, c := range chains {
		if c.want == abi.Refused || c.want == abi.OK {
			t.Errorf("%s has the status %v", c.name, c.want)
		}
	}
}

// What net says of a connection that was closed under a write is the chain that
// the table above has, and people read what happened.
func TestClosedUnderAWrite(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	_, err = conn.Write([]byte("POST"))
	if got := capability.StatusOf(err, abi.ProtocolFailed); got != abi.Reset {
		t.Errorf("%v has the status %v", err, got)
	}
	if got := Explain(err).Error(); !strings.HasPrefix(got, "the server closed the connection without an answer") {
		t.Errorf("people read %q", got)
	}
}

// TestAProxyIsNamed when it is not there, and not the server behind it.
func TestAProxyIsNamed(t *testing.T) {
	at := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 3128}
	for want, inner := range map[string]error{
		"the proxy 192.0.2.1:3128: connection refused; it is that of the entry": &net.OpError{
			Op: "dial", Net: "tcp", Addr: at, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED),
		},
		"the proxy: lookup corp-proxy: no such host; it is": &net.OpError{
			Op: "dial", Net: "tcp", Err: &net.DNSError{Name: "corp-proxy", Err: "no such host"},
		},
	} {
		err := Explain(fmt.Errorf("POST: %w", &net.OpError{Op: "proxyconnect", Net: "tcp", Err: inner}))
		if !strings.HasPrefix(err.Error(), want) {
			t.Errorf("says %v, want %s…", err, want)
		}
	}
}
