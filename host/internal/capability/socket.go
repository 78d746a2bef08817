package capability

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"syscall"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// keepAlive finds a peer that vanished without a word.
const keepAlive = 15 * time.Second

// Kind implements [Target].
func (Address) Kind() abi.OpenKind { return abi.OpenStream }

// Opener implements [Target].
func (a Address) Opener(*Limits) Opener { return StreamOpener(a.serve) }

func (a Address) serve(h *handle) { a.connect(h, nil) }

// connect carries the handle over a new connection. blob is what signs in to it,
// if there is something.
func (a Address) connect(h *handle, blob []byte) {
	conn, err := a.dial(h)
	if err != nil {
		h.fail(statusOf(err, abi.Unreachable), fmt.Errorf("dial %s: %w", a, explain(err)))
		return
	}
	defer conn.Close()
	if a.Network == "tls" {
		a.secure(h, conn.(net.Conn), blob)
		return
	}
	in, errIn := newInlet(conn)
	out, errOut := newPort(conn, conn.CloseWrite, conn.Close)
	if err := errors.Join(errIn, errOut); err != nil {
		h.fail(abi.Internal, fmt.Errorf("dial %s: %w", a, err))
		return
	}
	h.attach(out, "the connection")
	h.Events.Sealed(blob)
	h.carry(in, a.String())
}

// secure carries the handle over TLS. A server that hangs up without the close of
// that protocol has ended its side all the same, as many do; one that is cut off in
// the middle of a record has not.
func (a Address) secure(h *handle, raw net.Conn, blob []byte) {
	conn, err := a.shake(h, raw)
	if err != nil {
		h.fail(statusOf(err, abi.ProtocolFailed), fmt.Errorf("dial %s: %w", a, explainTLS(err)))
		return
	}
	h.attach(&tunnel{to: conn, onShut: conn.CloseWrite, onStop: raw.Close}, "the connection")
	h.Events.Sealed(blob)
	h.carry(conn, a.String())
}

// shake makes the handshake of TLS, until the handle is closed or the time for it
// is up.
func (a Address) shake(h *handle, raw net.Conn) (*tls.Conn, error) {
	config, err := a.TLS.config()
	if err != nil {
		return nil, StatusErrorf(abi.Internal, "%s", err.Error())
	}
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(a.Addr)
	}
	ctx, cancel := context.WithTimeout(h.Context, h.Limits().Dial)
	defer cancel()
	conn := tls.Client(raw, config)
	return conn, conn.HandshakeContext(ctx)
}

// explainTLS adds to an error of a handshake what to look at.
func explainTLS(err error) error {
	var unknown *tls.CertificateVerificationError
	switch {
	case errors.As(err, new(tls.RecordHeaderError)):
		return fmt.Errorf("the server does not speak TLS; is its address tcp:…? (%w)", err)
	case errors.As(err, &unknown):
		return explainCertificate(unknown)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the server closed the connection in the handshake: %w", err)
	}
	return explain(err)
}

// explainCertificate adds to a certificate that does not hold what to look at.
func explainCertificate(e *tls.CertificateVerificationError) error {
	if errors.As(e, new(x509.HostnameError)) {
		return fmt.Errorf("%w; if that is the server, write the name of its certificate in its entry: tls = { name = \"…\" }", e.Err)
	}
	return fmt.Errorf("%w; if the certificate is right, name its authority's file in the entry of the server: tls = { ca = \"…\" }", e.Err)
}

// socket is a connection that can be closed by halves.
type socket interface {
	conduit
	CloseWrite() error
}

// dial connects, until the handle is closed or the time for it is up.
func (a Address) dial(h *handle) (socket, error) {
	ctx, cancel := context.WithTimeout(h.Context, h.Limits().Dial)
	defer cancel()
	dialer := net.Dialer{KeepAlive: keepAlive}
	network := a.Network
	if network == "tls" {
		network = "tcp"
	}
	conn, err := dialer.DialContext(ctx, network, a.Addr)
	if err != nil {
		return nil, err
	}
	return conn.(socket), nil
}

// explainProxy says which proxy was not reached, and where it is named.
func explainProxy(e *net.OpError) error {
	at := ""
	var dial *net.OpError
	if errors.As(e.Err, &dial) && dial.Addr != nil {
		at = " " + dial.Addr.String()
	}
	return fmt.Errorf("the proxy%s: %w; it is that of the entry, or else of HTTPS_PROXY or HTTP_PROXY", at, cause(e.Err))
}

// explain adds to an error of dial what to look at.
func explain(err error) error {
	why := cause(err)
	var op *net.OpError
	switch {
	case errors.As(err, &op) && op.Op == "proxyconnect": // so net/http calls it, for all urls
		return explainProxy(op)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%w; is the server running?", why)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; is the server running, and is this its socket?", why)
	case isTimeout(err):
		return fmt.Errorf("no answer: %w", why)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; may this user open the socket?", why)
	}
	return why
}
