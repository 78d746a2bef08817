package capability

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// exchange is one request and its response. Its write side collects the body;
// nothing happens, and no goroutine runs, until that is whole.
type exchange struct {
	Slot
	call
	state  atomic.Int32
	ending bool // the owner's: the body is whole
	above  bool // more than the low-water mark was unsent after a flush
	large  bool // the owner's, until the exchange runs: more than is held
	asked  bool // the carrier's: the request was sent, and err is how it failed
	err    error
	alone  atomic.Bool         // Stop was called: nobody waits any more
	size   atomic.Int64        // what Queued says
	owner  interface{ Free() } // of the body, if that is borrowed
}

// The states of an exchange. It goes from the first to one of the others, once.
const (
	waiting int32 = iota // for the end of its body
	running              // somebody carries it, or is about to
	dropped              // it ended before that
)

func newExchange(g Opening, o order) *exchange {
	x := &exchange{call: call{order: o}}
	x.Slot.Init(g)
	x.patience.limits, x.patience.cancel = x.Limits(), x.Slot.Cancel
	return x
}

// Start is described at [Handle].
func (x *exchange) Start() {}

// Write is described at [hostio.Stream]. What is written is copied: it may have to be
// sent twice.
func (x *exchange) Write(p []byte, end bool) {
	if x.ending || x.large {
		return
	}
	if x.ending = end; x.take(len(p)) {
		x.body = append(x.body, p...)
		x.size.Store(int64(len(x.body)))
	}
}

// Borrow makes p the whole body, without a copy, and frees what it is of when
// nobody can read it any more. An exchange that is never carried leaves that to
// the collector. It makes the exchange a borrower for package guest.
func (x *exchange) Borrow(p []byte, end bool, of interface{ Free() }) {
	if !end || len(x.body) > 0 || len(p) <= inMemory {
		x.Write(p, end)
		of.Free()
		return
	}
	if !x.ending && !x.large && x.take(len(p)) {
		x.body, x.owner = p, of
		x.size.Store(int64(len(p)))
	}
	x.ending = true
}

// take counts n more bytes of the body, and reports whether they are wanted.
func (x *exchange) take(n int) bool {
	x.large = !x.HoldBody(n)
	if x.large || x.Ended() {
		// A Write that comes while anybody ends the exchange calls this too: one of the
		// two sees the other.
		x.ReleaseBody()
		return false
	}
	return true
}

// Flush is described at [hostio.Stream]. It sends a body that is whole. One that fits
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
	x.above = int(x.size.Load()) > x.Limits().LowWater
	if x.state.CompareAndSwap(waiting, running) && !x.lend() {
		x.Slot.Run(x)
	}
}

// lend offers the exchange to whoever waits for its answer, if it will not hold
// that one up: not where there are files to read before, or credentials to wait
// for, or a body that goes out bit by bit.
func (x *exchange) lend() bool {
	to, ok := x.Sink().(hostio.InlineSink)
	return ok && x.client.warm.Load() && len(x.body) <= inMemory && x.signsAtOnce() && to.OfferInline(x)
}

// signsAtOnce reports whether credentials have nothing to wait for. That may
// change on the way (a challenge, a token that runs out); what they wait with
// then ends with the exchange, see [Credentials].
func (x *exchange) signsAtOnce() bool {
	if !x.client.origin.signs(x.method, x.url) {
		return true
	}
	c, ok := x.client.origin.Credentials.(interface{ Prompt() bool })
	return ok && c.Prompt()
}

// Queued is described at [hostio.Stream].
func (x *exchange) Queued() int { return int(x.size.Load()) }

// Close is described at [hostio.Stream]. An exchange has no orderly end: whoever closes
// it does not want it any more, and the server sees that.
func (x *exchange) Close() { x.End() }

// End is described at [Handle].
func (x *exchange) End() {
	x.Slot.End()
	if x.state.CompareAndSwap(waiting, dropped) {
		x.leave()
	}
}

// leave gives back what the exchange held.
func (x *exchange) leave() {
	x.size.Store(0)
	x.ReleaseBody()
	x.Remove()
}

// Run is described at [hostio.InlineIO].
func (x *exchange) Run() {
	x.ask()
	if x.alone.Load() || x.err == nil && !x.whole() {
		x.Slot.Run(x)
		return
	}
	x.Complete()
}

// Stop is described at [hostio.InlineIO].
func (x *exchange) Stop() {
	x.alone.Store(true)
	x.Slot.Cancel(errLeft)
}

var errLeft = StatusErrorf(abi.Closed, "nobody waits for the answer any more")

// Complete runs the exchange to its end, from its request or from its answer on. It
// implements [Job].
func (x *exchange) Complete() {
	x.ask()
	if x.err == nil {
		x.err = x.relay(&x.Events)
	}
	if x.forget(); x.err != nil {
		x.Events.Error(x.tell(x.Context, x.err))
	}
	x.Slot.Cancel(nil)
	x.settle()
	x.giveBack()
	x.leave()
}

// giveBack frees what the body was borrowed from.
func (x *exchange) giveBack() {
	if x.owner != nil {
		x.reading.cut()
		x.body = nil
		x.owner.Free()
	}
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

// ask sends the request, if that has not been done, and hears the answer's
// beginning.
func (x *exchange) ask() {
	if x.asked {
		return
	}
	x.asked = true
	x.Events.AllowDrained()
	resp, err := x.answer()
	if x.err = err; err == nil {
		x.hear(resp)
	}
}

func (x *exchange) answer() (*http.Response, error) {
	switch {
	case x.large:
		return nil, StatusErrorf(abi.TooLarge, "the requests under way hold more than %d bytes", x.Limits().Bodies)
	case len(x.body) > 0 && x.method == http.MethodGet:
		return nil, StatusErrorf(abi.Malformed, "a GET has no body")
	}
	resp, err := x.perform(x.Context)
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body.Close()
		return nil, StatusErrorf(abi.ProtocolFailed, "the server upgraded a request that did not ask for it")
	}
	return resp, err
}

// sent is told by net/http how much of a large body is left.
func (x *exchange) sent(left int) {
	was := x.size.Load()
	if int64(left) >= was {
		return // sent again
	}
	x.size.Store(int64(left))
	if low := int64(x.Limits().LowWater); x.above && was > low && int64(left) <= low {
		x.Events.Drained()
	}
}

// opening is how a response begins: its head, and what the first read gave of a
// body that is no event stream.
type opening struct {
	resp *http.Response
	buf  *Chunk
	n    int
	more error // of that read; io.EOF when the body is whole
}

// hear takes a response over, and reads what may be said together with its head.
func (c *call) hear(resp *http.Response) {
	c.resp, c.buf = resp, GetChunk()
	if !isEventStream(resp.Header) {
		c.begin(forBody)
		c.n, c.more = fill(resp.Body, c.buf[:])
	}
}

// whole reports whether that is all of it.
func (o *opening) whole() bool { return o.more == io.EOF }

// forget closes the response.
func (o *opening) forget() {
	if o.resp != nil {
		o.resp.Body.Close()
		PutChunk(o.buf)
		*o = opening{}
	}
}

// relay says what a response holds: the head with what of the body is already
// there, and the rest in chunks, of which one is in flight.
func (c *call) relay(v *Emitter) error {
	resp, n, err := c.resp, c.n, c.more
	if isEventStream(resp.Header) {
		v.Head(resp.StatusCode, heard(resp.Header), -1, nil, false)
		return c.stream(v, resp.Body, c.buf[:])
	}
	v.Head(resp.StatusCode, heard(resp.Header), resp.ContentLength, c.buf[:n], err == io.EOF)
	for total := int64(n); err == nil; total += int64(n) {
		if total > c.limits.Answer {
			return StatusErrorf(abi.TooLarge, "HTTP %d: the answer is longer than %d bytes", resp.StatusCode, c.limits.Answer)
		}
		if n, err = fill(resp.Body, c.buf[:]); n > 0 {
			v.Data(c.buf[:n], err == io.EOF)
		} else if err == io.EOF {
			v.End()
		}
	}
	return unlessEnd(err)
}

// stream relays an event stream. It may go on for ever, so each piece is passed
// on as it comes, and only silence has a limit.
func (c *call) stream(v *Emitter, body io.Reader, buf []byte) error {
	for {
		c.begin(forStream)
		n, err := body.Read(buf)
		c.rest()
		if n > 0 {
			v.Data(buf[:n], err == io.EOF)
		} else if err == io.EOF {
			v.End()
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
