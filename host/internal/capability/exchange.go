package capability

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/abi"
)

// exchange is one request and its response. Its write side collects the body;
// nothing happens, and no goroutine runs, until that is whole.
type exchange struct {
	seat
	call
	state  atomic.Int32
	ending bool         // the owner's: the body is whole
	above  bool         // more than the low-water mark was unsent after a flush
	large  bool         // the owner's, until the exchange runs: more than is held
	size   atomic.Int64 // what Queued says
	holds  atomic.Int64 // what the table counts for the body
}

// The states of an exchange. It goes from the first to one of the others, once.
const (
	waiting int32 = iota // for the end of its body
	running              // a goroutine carries it
	dropped              // it ended before that
)

func newExchange(t *Table, g Grant, sink Sink, o order) *exchange {
	x := &exchange{call: call{order: o}}
	x.seat.init(t, g, sink)
	x.patience.limits, x.patience.cancel = &t.limits, x.seat.cancel
	return x
}

// start is described at tenant.
func (x *exchange) start() {}

// Write is described at [Stream]. What is written is copied: it may have to be
// sent twice.
func (x *exchange) Write(p []byte, end bool) {
	if x.ending || x.large {
		return
	}
	x.ending = end
	x.holds.Add(int64(len(p)))
	x.large = x.table.held.Add(int64(len(p))) > int64(x.table.limits.Bodies)
	if x.large || x.hasEnded() {
		x.release()
		return
	}
	x.body = append(x.body, p...)
	x.size.Store(int64(len(x.body)))
}

// release gives back what the table counts for the body. A Write that comes
// while anybody ends the exchange calls it too: one of the two sees the other.
func (x *exchange) release() { x.table.held.Add(-x.holds.Swap(0)) }

// Flush is described at [Stream]. It sends a body that is whole. One that fits
// into the buffers of a connection counts as sent at once.
func (x *exchange) Flush() {
	if !x.ending && !x.large {
		return
	}
	if len(x.body) <= inMemory {
		x.size.Store(0)
	} else {
		x.left = x.sent
	}
	x.above = int(x.size.Load()) > x.table.limits.LowWater
	if x.state.CompareAndSwap(waiting, running) {
		x.table.crew.carry(x)
	}
}

// Queued is described at [Stream].
func (x *exchange) Queued() int { return int(x.size.Load()) }

// Close is described at [Stream]. An exchange has no orderly end: whoever closes
// it does not want it any more, and the server sees that.
func (x *exchange) Close() { x.end() }

// end is described at tenant.
func (x *exchange) end() {
	x.seat.end()
	if x.state.CompareAndSwap(waiting, dropped) {
		x.leave()
	}
}

// leave gives back what the exchange held.
func (x *exchange) leave() {
	x.size.Store(0)
	x.release()
	x.table.remove(x)
}

// run carries the exchange from its request to its end.
func (x *exchange) run() {
	defer x.leave()
	defer x.settle()
	x.opened.Store(true) // Drained may be said
	if err := x.carry(); err != nil {
		x.sayError(x.tell(x.quit, err))
	}
	x.seat.cancel(nil)
}

// settle is the end of the clock. net/http may still be about to read a large
// body, which sets it.
func (x *exchange) settle() {
	if len(x.body) > inMemory {
		x.rest()
	} else {
		x.over()
	}
}

func (x *exchange) carry() error {
	switch {
	case x.large:
		return &statusError{abi.TooLarge, fmt.Sprintf("the requests under way hold more than %d bytes", x.table.limits.Bodies)}
	case len(x.body) > 0 && x.method == http.MethodGet:
		return &statusError{abi.Malformed, "a GET has no body"}
	}
	resp, err := x.perform(x.quit)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return &statusError{abi.ProtocolFailed, "the server upgraded a request that did not ask for it"}
	}
	return x.relay(&x.voice, resp)
}

// sent is told by net/http how much of a large body is left.
func (x *exchange) sent(left int) {
	was := x.size.Load()
	if int64(left) >= was {
		return // sent again
	}
	x.size.Store(int64(left))
	if low := int64(x.table.limits.LowWater); x.above && was > low && int64(left) <= low {
		x.sayDrained()
	}
}

// chunks are the buffers that bodies are read into.
var chunks = sync.Pool{New: func() any { return new([chunk]byte) }}

// relay says what a response holds: the head with what of the body is already
// there, and the rest in chunks, of which one is in flight.
func (c *call) relay(v *voice, resp *http.Response) error {
	buf := chunks.Get().(*[chunk]byte)
	defer chunks.Put(buf)
	if isEventStream(resp.Header) {
		v.sayHead(resp.StatusCode, heard(resp.Header), nil, false)
		return c.stream(v, resp.Body, buf[:])
	}
	c.begin(forBody)
	n, err := fill(resp.Body, buf[:])
	v.sayHead(resp.StatusCode, heard(resp.Header), buf[:n], err == io.EOF)
	for total := int64(n); err == nil; total += int64(n) {
		if total > c.limits.Answer {
			return &statusError{abi.TooLarge, fmt.Sprintf("HTTP %d: the answer is longer than %d bytes", resp.StatusCode, c.limits.Answer)}
		}
		if n, err = fill(resp.Body, buf[:]); n > 0 {
			v.sayData(buf[:n], err == io.EOF)
		} else if err == io.EOF {
			v.sayEnd()
		}
	}
	return unlessEnd(err)
}

// stream relays an event stream. It may go on for ever, so each piece is passed
// on as it comes, and only silence has a limit.
func (c *call) stream(v *voice, body io.Reader, buf []byte) error {
	for {
		c.begin(forStream)
		n, err := body.Read(buf)
		c.rest()
		if n > 0 {
			v.sayData(buf[:n], err == io.EOF)
		} else if err == io.EOF {
			v.sayEnd()
		}
		if err != nil {
			return unlessEnd(err)
		}
	}
}

// fill reads until p is full or the body ends.
func fill(body io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = body.Read(p[n:])
		n += m
	}
	return n, err
}

func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func isEventStream(header http.Header) bool {
	kind, _, _ := strings.Cut(header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}
