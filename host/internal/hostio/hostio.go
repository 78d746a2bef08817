// Package hostio is the vocabulary between a guest and the I/O that it causes:
// what a guest may reach ([Host]), what it writes to ([Stream]) and what tells it
// of the answer ([Sink]). Package guest calls a Host and its Streams, and its Sinks
// are called; package capability is the other side. Neither imports the other.
package hostio

import (
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// Host is all that one guest can reach: everything that it causes outside of its
// memory goes through here. Only the goroutine that runs the guest calls it, and no
// method blocks. A Host that is a [StderrKeeper] too is asked for the last words of
// its processes.
type Host interface {
	// Open begins to open something. A status below zero refuses at once;
	// otherwise the sink hears Opened, Sealed, Head or Error later. r is valid
	// during the call, its strings for as long as they are wanted.
	Open(kind abi.OpenKind, r *abi.OpenRequest, sink Sink) (Stream, abi.Status, error)

	// Timers returns the timers of the guest. fire is called when one runs out, on
	// any goroutine, and must not block.
	Timers(fire func(id uint32)) Timers
}

// StderrKeeper is a [Host] that keeps what its processes wrote to their stderr.
type StderrKeeper interface {
	// Stderr returns the end of that, oldest first. It is complete for a process
	// when its sink hears Exit. Any goroutine may call it; the caller keeps the
	// bytes.
	Stderr() []byte
}

// Timers is a bounded set of timers. A timer that ran out waits to be claimed; one
// that was set again or cancelled in between is not claimed, so a guest never hears
// of a stale one.
type Timers interface {
	// Set arms timer id, in place of what was set for it before; zero cancels it.
	Set(id uint32, after time.Duration) abi.Status

	// Claim reports whether timer id ran out since it was last set, and takes it
	// out of the set.
	Claim(id uint32) bool

	// Stop cancels all timers for good.
	Stop()
}

// Stream is the write side of an open handle. Only the goroutine that runs the
// guest calls it, and no method blocks. Bytes that are written before the handle is
// open wait.
type Stream interface {
	// Write queues p, which must stay as it is until Flush returns. end closes the
	// write side once everything before it is sent; what is written after it is
	// dropped.
	Write(p []byte, end bool)

	// Flush offers everything that is queued to the system in one call. What the
	// system does not take is copied and sent from a goroutine.
	Flush()

	// Queued is the number of bytes that were written and that the system has not
	// taken. It is zero once the write side is broken or closed.
	Queued() int

	// Close flushes, starts the end of the handle and returns. A peer that is
	// connected is still offered what was queued, within the grace; one that is not
	// connected is given up. The sink hears nothing more. Close may be called again.
	Close()
}

// Borrower is a [Stream] that can keep the bytes of a message without a copy.
type Borrower interface {
	// Borrow is Write for bytes that stay as they are until it calls owner.Free.
	// It may leave that call out, and the bytes to the garbage collector.
	Borrow(p []byte, end bool, owner interface{ Free() })
}

// AnswerReader is a [Stream] whose other side a caller may read itself, while it waits for
// an answer that comes there.
type AnswerReader interface {
	// ReadFor passes what the other side says to the sink, on this goroutine, until w
	// has its answer or nothing comes for a moment. It returns at once where another
	// goroutine does that. When it returns, what comes for others is read without it.
	ReadFor(w Waiter)
}

// Waiter is a caller that waits for an answer. Its methods do not wait.
type Waiter interface {
	Over() bool   // it has its answer, or gave up
	Others() bool // others wait too
}

// Sink hears what happens to one open handle. The calls come from goroutines of the
// handle, one at a time, in this order: Opened, Sealed or Head; Data as often as
// there is data; End; and for a process Exit. Error comes instead of or after any of
// them. Exit and Error are each the last call. Drained may come anywhere between the
// first and the last call; for an HTTP exchange, before its Head too.
//
// No call begins after the handle was closed. A call that had begun before may still
// be running then, so a receiver that uses its handle numbers again has to tell which
// handle a call was meant for.
//
// A Sink may be an [InlineSink] too.
type Sink interface {
	// Opened: the process runs, or the peer is connected.
	Opened()

	// Sealed is Opened with the bytes that sign in to the peer. The guest must not
	// see them. The sink may keep blob.
	Sealed(blob []byte)

	// Head: an HTTP response began. headers are those that a guest may see, with names in
	// lower case. length is the length of the body as the server announces it, or below zero.
	// body is the part of the body that has come so far; it is valid during the call. Head
	// returns and counts like Data, which follows unless last is set; with last, Head does
	// not wait for the guest.
	Head(status int, headers []abi.Pair, length int64, body []byte, last bool)

	// Data hands over p until it returns; that is the backpressure. After the
	// handle or its table was closed, a Data under way must return soon. last says
	// that no End follows.
	Data(p []byte, last bool)

	// End: the peer sends no more. The write side may still work.
	End()

	// Exit: the process is over, and so is everything that it started. It comes
	// after End; output that outlives the process is waited for only for a grace.
	// detail reads "exit status 3" or "signal: killed"; code is -1 for a signal. unread says
	// that it certainly read nothing of what was written to it.
	Exit(code int, detail string, unread bool)

	// Error: the handle is of no more use. status is what a guest may know, err the
	// full story for the user.
	Error(status abi.Status, err error)

	// Drained: the unsent bytes fell to the low-water mark, after a Flush had left
	// more than that.
	Drained()
}

// InlineSink is a [Sink] behind which a caller may be waiting for the answer to an
// HTTP exchange. That caller can run the exchange on its own goroutine, which saves
// waking another one twice: to begin, and to be told of the end.
type InlineSink interface {
	// OfferInline offers an exchange whose request is complete. It is called within
	// Flush and does not wait. If it reports true, a caller calls Run.
	OfferInline(x InlineIO) (taken bool)
}

// InlineIO is an HTTP exchange that a waiting caller may run.
type InlineIO interface {
	// Run sends the request and passes on its answer, if that is complete at once, and of
	// an event stream what comes first; it leaves the rest to the table that the exchange
	// belongs to. It is called once. It takes no longer than the server does, unless the
	// sink blocks.
	Run()

	// Stop ends the exchange as Close does, except that the sink is told: Run
	// returns as soon as it has let go of the network. Any goroutine may call it,
	// also before and after Run; it does not wait.
	Stop()
}
