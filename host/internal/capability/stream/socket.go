package stream

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/dial"
)

// Kind implements [capability.Target].
func (Address) Kind() abi.OpenKind { return abi.OpenStream }

// Opener implements [capability.Target].
func (a Address) Opener(*capability.Limits) capability.Opener {
	return Opener(func(h *Duplex) { a.connect(h, nil) })
}

// connect runs the handle over a new connection. blob signs in to the peer; it may be empty.
func (a Address) connect(h *Duplex, blob []byte) {
	conn, err := a.dial(h)
	if err != nil {
		h.Fail(capability.StatusOf(err, abi.Unreachable), fmt.Errorf("dial %s: %w", a, dial.Explain(err)))
		return
	}
	defer conn.Close()
	if a.Network == "tls" {
		a.secure(h, conn.(net.Conn), blob)
		return
	}
	in, errIn := NewReader(conn)
	out, errOut := NewFDOutput(conn, conn.CloseWrite, conn.Close)
	if err := errors.Join(errIn, errOut); err != nil {
		h.Fail(abi.Internal, fmt.Errorf("dial %s: %w", a, err))
		return
	}
	h.Attach(out, "the connection")
	h.Events.Sealed(blob)
	h.Carry(in, a.String())
}

// secure runs the handle over TLS. The handshake ends with the handle, or when the time for it is
// over. If a server hangs up without the close of TLS, as many do, its side still counts as ended.
// If the connection breaks within a record, it does not.
func (a Address) secure(h *Duplex, raw net.Conn, blob []byte) {
	var conn *tls.Conn
	config, err := a.TLS.Config()
	if err != nil {
		err = capability.StatusErrorf(abi.Internal, "%s", err.Error())
	} else {
		if config.ServerName == "" {
			config.ServerName, _, _ = net.SplitHostPort(a.Addr)
		}
		ctx, cancel := context.WithTimeout(h.Context, h.Limits().Dial)
		conn = tls.Client(raw, config)
		err = conn.HandshakeContext(ctx)
		cancel()
	}
	if err != nil {
		h.Fail(capability.StatusOf(err, abi.ProtocolFailed), fmt.Errorf("dial %s: %w", a, dial.ExplainTLS(err)))
		return
	}
	h.Attach(NewBlockingOutput(conn, conn.CloseWrite, raw.Close), "the connection")
	h.Events.Sealed(blob)
	h.Carry(conn, a.String())
}

// halfConn is a connection whose write side can be closed alone.
type halfConn interface {
	FDConn
	CloseWrite() error
}

// dial connects, until the handle is closed or the time for it is up.
func (a Address) dial(h *Duplex) (halfConn, error) {
	ctx, cancel := context.WithTimeout(h.Context, h.Limits().Dial)
	defer cancel()
	dialer := net.Dialer{KeepAlive: dial.KeepAlive}
	network := a.Network
	if network == "tls" {
		network = "tcp"
	}
	conn, err := dialer.DialContext(ctx, network, a.Addr)
	if err != nil {
		return nil, err
	}
	return conn.(halfConn), nil
}

// Sealed is an [Address] with credentials. Each stream gets them from Blob. The guest
// decides where in the stream they are sent, and cannot read them.
type Sealed struct {
	Address

	// Blob returns the credentials. It is called for each stream, before the stream is dialled, and
	// may wait until ctx ends, which is with the handle at the latest. No bytes mean that the
	// stream needs none; an error ends the handle. Blob must not change the bytes afterwards.
	Blob func(ctx context.Context) ([]byte, error)
}

// Opener implements [capability.Target].
func (s Sealed) Opener(*capability.Limits) capability.Opener { return Opener(s.serve) }

func (s Sealed) serve(h *Duplex) {
	blob, err := s.Blob(h.Context)
	if err != nil {
		h.Fail(abi.Denied, fmt.Errorf("sign in to %s: %w", s.Address, err))
		return
	}
	s.connect(h, blob)
}
