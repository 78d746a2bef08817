package capability

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// chunk is how much a handle reads at a time, and what a fresh pipe holds.
const chunk = 64 << 10

// conduit is what an end of a pipe and a socket have in common.
type conduit interface {
	io.ReadWriteCloser
	SetReadDeadline(time.Time) error
	SyscallConn() (rawConn, error)
}

// handle is one open thing, of whatever kind: the write side that the owner
// holds, the voice that its sink hears, and the word that it has to end. It is
// carried by one goroutine, which runs serve of its target; every other
// goroutine of the handle ends before serve returns.
type handle struct {
	voice
	out    outlet
	table  *Table
	grant  Grant
	after  *handle         // has to be gone before this one starts; nil for none
	quit   context.Context // ends when the handle has to, or has ended
	cancel func()          // ends quit
	failed chan struct{}   // closed by the first fail
	gone   chan struct{}   // closed when nothing of it is left

	failOnce sync.Once
	status   abi.Status // set before failed is closed
	cause    error
	unread   string // what the peer does not read when it stalls
}

func newHandle(t *Table, g Grant, sink Sink) *handle {
	h := &handle{
		voice:  voice{sink: sink},
		table:  t,
		grant:  g,
		failed: make(chan struct{}),
		gone:   make(chan struct{}),
	}
	h.quit, h.cancel = context.WithCancel(context.Background())
	h.out.init(h)
	return h
}

// run carries the handle from its open to its end. An error is said here and
// nowhere else, so it is the last word in every kind.
func (h *handle) run() {
	defer h.table.remove(h)
	if h.mayStart() {
		h.grant.To.serve(h)
	}
	h.out.close()
	h.cancel()
	if isClosed(h.failed) {
		h.sayError(h.status, h.cause)
	}
}

// exit says that a process is over. The handle counts as ended before its sink
// hears so: the sink may want to open the next one at once.
func (h *handle) exit(code int, detail string) {
	h.cancel()
	h.sayExit(code, detail)
}

// mayStart waits for the handle that has to be gone first, and reports whether
// this one is still wanted then. It waits even if it is not: whoever comes after
// waits for this one alone.
func (h *handle) mayStart() bool {
	if h.after != nil {
		<-h.after.gone
		h.after = nil
	}
	return !h.hasEnded()
}

// Write, Flush, Queued and Close make the handle a [Stream].
func (h *handle) Write(p []byte, end bool) { h.out.write(p, end) }

// Flush is described at [Stream].
func (h *handle) Flush() { h.out.flush() }

// Queued is described at [Stream].
func (h *handle) Queued() int { return h.out.queued() }

// Close is described at [Stream].
func (h *handle) Close() {
	h.out.flush()
	h.end()
}

// end mutes the handle and asks it to quit. Unlike Close, anyone may call it.
func (h *handle) end() {
	h.muted.Store(true)
	h.cancel()
}

func (h *handle) hasEnded() bool { return h.quit.Err() != nil }

// fail ends the handle with an error for its sink. The first failure counts.
func (h *handle) fail(status abi.Status, err error) {
	h.failOnce.Do(func() {
		h.status, h.cause = status, err
		close(h.failed)
	})
}

// attach gives the write side somewhere to send to. unread names what a peer
// does not read when it stalls: "its stdin".
func (h *handle) attach(p *port, unread string) {
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
	time.AfterFunc(h.table.grace.Exit, func() {
		h.fail(abi.Reset, fmt.Errorf("server stopped reading %s: %w", h.unread, cause(err)))
	})
}

// listen says what in has to say. One chunk is in flight.
func (h *handle) listen(in *inlet, name string) {
	buf := make([]byte, chunk)
	for {
		n, err := in.Read(buf)
		if n > 0 {
			h.sayData(buf[:n])
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			h.sayEnd()
			return
		case errors.Is(err, net.ErrClosed):
			return // we closed it, and why is said elsewhere
		default:
			h.fail(statusOf(err), fmt.Errorf("read %s: %w", name, cause(err)))
			return
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
