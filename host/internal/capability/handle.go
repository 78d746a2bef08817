package capability

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// conduit is what an end of a pipe and a socket have in common.
type conduit interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
	SyscallConn() (rawConn, error)
}

// handle is an open thing that bytes go to and come from. It is carried by one
// goroutine, which runs serve; every other goroutine of the handle ends before
// serve returns.
type handle struct {
	Slot
	out    outlet
	serve  func(*handle)
	failed chan struct{} // closed by the first fail

	failOnce sync.Once
	status   abi.Status // set before failed is closed
	cause    error
	unread   string // what the peer does not read when it stalls
}

// newHandle returns a handle that serve will carry: until the peer ended it, it
// failed, or it was asked to quit. When serve returns, nothing is left.
func newHandle(o Opening, serve func(*handle)) *handle {
	h := &handle{serve: serve, failed: make(chan struct{})}
	h.Slot.Init(o)
	h.out.init(h)
	return h
}

// Start is described at [Handle].
func (h *handle) Start() { go h.run() }

// run carries the handle from its open to its end. An error is said here and
// nowhere else, so it is the last word in every kind.
func (h *handle) run() {
	defer h.Remove()
	if h.AwaitTurn() {
		h.serve(h)
	}
	h.out.close()
	h.Cancel(nil)
	if h.hasFailed() {
		h.Events.Error(h.status, h.cause)
	}
}

// exit says that a process is over. The handle counts as ended before its sink
// hears so: the sink may want to open the next one at once.
func (h *handle) exit(code int, detail string) {
	h.Cancel(nil)
	h.Events.Exit(code, detail)
}

// Write, Flush, Queued and Close make the handle a [hostio.Stream].
func (h *handle) Write(p []byte, end bool) { h.out.write(p, end) }

// Flush is described at [hostio.Stream].
func (h *handle) Flush() { h.out.flush() }

// Queued is described at [hostio.Stream].
func (h *handle) Queued() int { return h.out.queued() }

// Close is described at [hostio.Stream].
func (h *handle) Close() {
	h.out.flush()
	h.End()
}

// fail ends the handle with an error for its sink. The first failure counts.
func (h *handle) fail(status abi.Status, err error) {
	h.failOnce.Do(func() {
		h.status, h.cause = status, err
		close(h.failed)
	})
}

// attach gives the write side somewhere to send to. unread names what a peer
// does not read when it stalls: "its stdin".
func (h *handle) attach(p lane, unread string) {
	h.unread = unread
	h.out.attach(p)
}

// stalled is called by the write side when the peer takes nothing for too long.
func (h *handle) stalled() {
	h.fail(abi.Stalled, fmt.Errorf("server has not read %s for %s", h.unread, h.out.stall))
}

// broke is called by the write side when the peer takes no more bytes. What
// the peer still says (a last answer, an exit status) tells more than the
// broken pipe does, so the failure waits for it a moment.
func (h *handle) broke(err error) {
	time.AfterFunc(h.Grace().Exit, func() {
		h.fail(abi.Reset, fmt.Errorf("server stopped reading %s: %w", h.unread, cause(err)))
	})
}

// carry listens to a peer that was attached, until the handle is closed or has
// failed. A peer that ends its side may still be written to, so the end of the
// data is not the end of the handle.
func (h *handle) carry(in io.Reader, name string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.listen(in, name)
	}()
	select {
	case <-h.Context.Done():
		h.part()
	case <-h.failed:
	}
	h.out.close()
	<-done
}

// part is the orderly end: what was written is still sent, within the grace. A
// peer that has all of it is not waited for.
func (h *handle) part() {
	h.out.finish()
	select {
	case <-h.out.shut:
	case <-h.failed:
	case <-h.Forced():
	case <-time.After(h.Grace().Stdin):
	}
}

// listen says what in has to say. One chunk is in flight; where in is an inlet,
// none is held while nothing comes.
func (h *handle) listen(in io.Reader, name string) {
	for {
		buf, n, err := readChunk(in)
		if n > 0 {
			h.Events.Data(buf[:n], false)
		}
		PutChunk(buf)
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			h.Events.End()
			return
		case errors.Is(err, net.ErrClosed):
			return // we closed it, and why is said elsewhere
		default:
			h.fail(statusOf(err, abi.Reset), fmt.Errorf("read %s: %w", name, cause(err)))
			return
		}
	}
}

// hasFailed reports whether fail was called.
func (h *handle) hasFailed() bool {
	select {
	case <-h.failed:
		return true
	default:
		return false
	}
}

// StreamOpener opens byte streams that a request only names. The function carries one
// until the peer ended it, it failed, or it was asked to end.
type StreamOpener func(*handle)

// Open implements [Opener].
func (serve StreamOpener) Open(o Opening, r *abi.OpenRequest) (Handle, abi.Status, error) {
	if r.Flags&^abi.Essential != 0 {
		return nil, abi.Malformed, fmt.Errorf("flags %#x do not apply to it", r.Flags)
	}
	if r.Method != "" || r.Target != "" || len(r.Headers) > 0 {
		return nil, abi.Malformed, fmt.Errorf("a method, a target and headers do not apply to it")
	}
	return newHandle(o, serve), abi.OK, nil
}

// Close implements [Opener]. Nothing is kept between handles.
func (StreamOpener) Close() {}
