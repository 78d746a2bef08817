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

// serve implements [Target]. A peer that ends its side may still be written to,
// so the end of the data is not the end of the handle.
func (a Address) serve(h *handle) {
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
	h.sayOpened()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.listen(in, a.String())
	}()
	select {
	case <-h.quit.Done():
		a.part(h)
	case <-h.failed:
	}
	h.out.close()
	<-done
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

// part is the orderly end: what was written is still sent, within the grace. A
// peer that has all of it is not waited for.
func (a Address) part(h *handle) {
	h.out.finish()
	select {
	case <-h.out.shut:
	case <-h.failed:
	case <-h.table.force:
	case <-time.After(h.table.grace.Stdin):
	}
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
