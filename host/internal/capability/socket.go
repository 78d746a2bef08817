package capability

import (
	"context"
	"errors"
	"fmt"
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

// hold implements [Target].
func (a Address) hold(t *Table, g Grant, r *abi.OpenRequest, sink Sink) (tenant, abi.Status, error) {
	return holdBytes(newHandle(t, g, sink, a.serve), r)
}

func (a Address) serve(h *handle) { a.connect(h, nil) }

// connect carries the handle over a new connection. blob is what signs in to it,
// if there is something.
func (a Address) connect(h *handle, blob []byte) {
	conn, err := a.dial(h)
	if err != nil {
		h.fail(statusOf(err), fmt.Errorf("dial %s: %w", a, explain(err)))
		return
	}
	defer conn.Close()
	in, errIn := newInlet(conn)
	out, errOut := newPort(conn, conn.CloseWrite, conn.Close)
	if err := errors.Join(errIn, errOut); err != nil {
		h.fail(abi.Internal, fmt.Errorf("dial %s: %w", a, err))
		return
	}
	h.attach(out, "the connection")
	h.saySealed(blob)
	h.carry(in, a.String())
}

// socket is a connection that can be closed by halves.
type socket interface {
	conduit
	CloseWrite() error
}

// dial connects, until the handle is closed or the time for it is up.
func (a Address) dial(h *handle) (socket, error) {
	ctx, cancel := context.WithTimeout(h.quit, h.table.limits.Dial)
	defer cancel()
	dialer := net.Dialer{KeepAlive: keepAlive}
	conn, err := dialer.DialContext(ctx, a.Network, a.Addr)
	if err != nil {
		return nil, err
	}
	return conn.(socket), nil
}

// explain adds to an error of dial what to look at.
func explain(err error) error {
	why := cause(err)
	switch {
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
