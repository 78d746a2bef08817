package httpclient

import (
	"io"
	"net/http"
	"sync/atomic"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
)

// exchange is one request and its response. Its write side collects the body. No goroutine runs
// until the body is complete.
type exchange struct {
	capability.Slot
	transaction
	state     atomic.Int32
	ending    bool // used by the owner: the body is complete
	tooLarge  bool // used by the owner until the exchange runs: the body is over the bound
	requested bool // used by the runner: the request was sent; err is its error
	err       error
	abandoned atomic.Bool         // Stop was called: no caller waits any more
	unsent    atomic.Int64        // the result of Queued
	owner     interface{ Free() } // owns the body, if that is borrowed
}

// The states of an exchange. It goes from the first to one of the others, once.
const (
	waiting int32 = iota // for the end of its body
	running              // a goroutine runs it, or is about to
	dropped              // it ended before it ran
)

func newExchange(g capability.Opening, o request) *exchange {
	x := &exchange{transaction: transaction{request: o}}
	x.Slot.Init(g)
	x.slot = &x.Slot
	x.phaseTimer.limits, x.phaseTimer.cancel = x.Limits(), x.Slot.Cancel
	return x
}

// Start is described at [capability.Handle].
func (x *exchange) Start() {}

// Write implements [hostio.Stream]. It copies p, because the body may have to be sent twice.
func (x *exchange) Write(p []byte, end bool) {
	if x.ending || x.tooLarge {
		return
	}
	if x.ending = end; x.countBody(len(p)) {
		x.body = append(x.body, p...)
		x.unsent.Store(int64(len(x.body)))
	}
}

// Borrow implements [hostio.Borrower]. If p is large and the whole body, it is not copied, and its
// owner is freed when net/http can no longer read it. Otherwise p is copied or dropped, and its
// owner is freed at once. If the exchange is closed before it runs, Free is not called.
func (x *exchange) Borrow(p []byte, end bool, of interface{ Free() }) {
	switch {
	case !end || len(x.body) > 0 || len(p) <= inMemory:
		x.Write(p, end)
		of.Free()
		return
	case x.ending || x.tooLarge || !x.countBody(len(p)):
		of.Free()
	default:
		x.body, x.owner = p, of
		x.unsent.Store(int64(len(p)))
	}
	x.ending = true
}

// countBody adds n bytes to the length of the body, and reports whether the exchange takes them.
func (x *exchange) countBody(n int) bool {
	x.tooLarge = !x.HoldBody(n)
	if x.tooLarge || x.Ended() {
		// A Write may run while another goroutine ends the exchange: one of the two sees the other,
		// and releases the bytes.
		x.ReleaseBody()
		return false
	}
	return true
}

// Flush is described at [hostio.Stream]. It sends the request once
// its body is complete. A body that fits into the buffers of a connection counts as
// sent at once.
func (x *exchange) Flush() {
	if !x.ending && !x.tooLarge {
		return
	}
	if len(x.body) <= inMemory {
		x.unsent.Store(0)
	} else {
		x.left = x.onUpload
	}
	if x.state.CompareAndSwap(waiting, running) && !x.offerInline() {
		x.Slot.Run(x)
	}
}

// offerInline offers the exchange to the caller that waits for its answer. It does not if that
// caller would first have to wait for something else: for files to be read, for a body that goes
// out in parts, or for credentials. Credentials may have to wait later, for a challenge or a new
// token; that wait ends with the exchange, see [Credentials].
func (x *exchange) offerInline() bool {
	to, ok := x.Sink().(hostio.InlineSink)
	if !ok || !x.client.prepared.Load() || len(x.body) > inMemory {
		return false
	}
	if x.client.origin.signs(x.method, x.url) {
		if c, ok := x.client.origin.Credentials.(interface{ AppliesAtOnce() bool }); !ok || !c.AppliesAtOnce() {
			return false
		}
	}
	return to.OfferInline(x)
}

// Queued is described at [hostio.Stream].
func (x *exchange) Queued() int { return int(x.unsent.Load()) }

// Close implements [hostio.Stream]. An exchange has no orderly end: Close abandons it, which the
// server sees.
func (x *exchange) Close() { x.End() }

// End is described at [capability.Handle].
func (x *exchange) End() {
	x.Slot.End()
	if x.state.CompareAndSwap(waiting, dropped) {
		x.release()
	}
}

// release frees what the exchange held.
func (x *exchange) release() {
	x.unsent.Store(0)
	x.ReleaseBody()
	x.Remove()
}

// Run is described at [hostio.InlineIO].
func (x *exchange) Run() {
	if x.begin(); x.stream && !x.abandoned.Load() {
		x.relayNext(&x.Events) // usually the whole answer
	}
	if x.abandoned.Load() || x.err == nil && x.readErr != io.EOF {
		x.Slot.Run(x)
		return
	}
	x.Complete()
}

// Stop is described at [hostio.InlineIO].
func (x *exchange) Stop() {
	x.abandoned.Store(true)
	x.Slot.Cancel(errAbandoned)
}

var errAbandoned = capability.StatusErrorf(abi.Closed, "the caller no longer waits for the answer")

// Complete runs the exchange to its end, from its request or, if that was sent, from its answer. It
// implements [capability.Job].
func (x *exchange) Complete() {
	x.begin()
	if x.err == nil {
		x.err = x.relay(&x.Events)
	}
	if x.close(); x.err != nil {
		x.Events.Error(x.tell(x.Context, x.err))
	}
	x.Slot.Cancel(nil)
	if len(x.body) > inMemory {
		x.stop() // net/http may still read the body, and set the clock again
	} else {
		x.recycle()
	}
	x.freeBody()
	x.release()
}

// freeBody frees the owner of a borrowed body.
func (x *exchange) freeBody() {
	if x.owner != nil {
		x.reading.close()
		x.body = nil
		x.owner.Free()
	}
}

// begin sends the request, unless it was sent, and reads the beginning of the answer.
func (x *exchange) begin() {
	if x.requested {
		return
	}
	x.requested = true
	x.Events.AllowDrained()
	switch {
	case x.tooLarge:
		x.err = capability.StatusErrorf(abi.TooLarge, "the requests under way hold more than %d bytes", x.Limits().Bodies)
		return
	case len(x.body) > 0 && x.method == http.MethodGet:
		x.err = capability.StatusErrorf(abi.Malformed, "a GET has no body")
		return
	}
	resp, err := x.perform(x.Context)
	switch {
	case err != nil:
		x.err = err
	case resp.StatusCode == http.StatusSwitchingProtocols:
		resp.Body.Close()
		x.err = capability.StatusErrorf(abi.ProtocolFailed, "the server upgraded a request that did not ask for it")
	default:
		x.readHead(resp)
	}
}

// onUpload receives from net/http how many bytes of a large body are left.
func (x *exchange) onUpload(left int) {
	was := x.unsent.Load()
	if int64(left) >= was {
		return // the body is being sent again
	}
	x.unsent.Store(int64(left))
	if low := int64(x.Limits().LowWater); was > low && int64(left) <= low {
		x.Events.Drained()
	}
}
