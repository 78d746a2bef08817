// Package hostio holds the interfaces between a guest and its I/O: a [Host] opens, a [Stream] takes
// what the guest writes, and a [Sink] gets the answer. Package guest calls a Host and its Streams,
// and implements Sink. Package capability does the opposite. Neither imports the other.
package hostio

import (
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// Host is everything that one guest can reach outside of its memory. Only the goroutine that runs
// the guest calls it, and no method blocks. If a Host is a [StderrKeeper] too, it is asked for the
// stderr of its processes.
type Host interface {
	// Open begins to open a handle. A status below zero is a refusal; otherwise the sink gets
	// Opened, Sealed, Head or Error later. r is valid during the call, but its strings may be kept.
	Open(kind abi.OpenKind, r *abi.OpenRequest, sink Sink) (Stream, abi.Status, error)

	// Timers returns the timers of the guest. fire is called when a timer fires, on any goroutine,
	// and must not block.
	Timers(fire func(id uint32)) Timers
}

// StderrKeeper is a [Host] that keeps what its processes wrote to their stderr.
type StderrKeeper interface {
	// Stderr returns the last bytes of that stderr, oldest first. For a process it is complete when
	// the sink gets Exit. Any goroutine may call it. The bytes belong to the caller.
	Stderr() []byte
}

// Timers is a bounded set of timers. A timer that fired must be claimed. One that was set again or
// cancelled in between is not claimed, so a guest never gets a stale one.
type Timers interface {
	// Set arms timer id, and replaces its previous setting; zero cancels it.
	Set(id uint32, after time.Duration) abi.Status

	// Claim reports whether timer id has fired since it was last set, and removes it from the set.
	Claim(id uint32) bool

	// Stop cancels all timers for good.
	Stop()
}

// Stream is the write side of a handle. Only the goroutine that runs the guest calls it, and no
// method blocks. Bytes that are written before the handle is open wait.
type Stream interface {
	// Write queues p, which must not change until Flush returns. end closes the write side once
	// everything up to p is sent; bytes that are written later are dropped.
	Write(p []byte, end bool)

	// Flush offers all queued bytes to the system in one call. Bytes that the system does not take
	// are copied, and a goroutine sends them.
	Flush()

	// Queued returns how many written bytes the system has not taken. It is zero once the write
	// side is broken or closed.
	Queued() int

	// Close flushes, begins the end of the handle and returns. A connected peer is still offered
	// the queued bytes, within the grace; a dial in progress is abandoned. The sink gets no more
	// calls. Close may be called again.
	Close()
}

// Borrower is a [Stream] that can keep the bytes of a message without a copy.
type Borrower interface {
	// Borrow is Write for bytes that do not change until it calls owner.Free. It may omit that call
	// and leave the bytes to the garbage collector.
	Borrow(p []byte, end bool, owner interface{ Free() })
}

// AnswerReader is a [Stream] whose input a caller may read itself, while it waits for an answer
// from there.
type AnswerReader interface {
	// ReadFor reads the input and passes it to the sink, on this goroutine, until w has its answer
	// or nothing comes for a moment. If others wait, or another goroutine is reading, it returns at
	// once. After it has returned, another goroutine reads the input.
	ReadFor(w Waiter)
}

// Waiter is a caller that waits for an answer. Its methods do not wait.
type Waiter interface {
	Over() bool   // it has its answer, or has stopped waiting
	Others() bool // others wait too
}

// Sink receives the events of one handle. The calls come from goroutines of the handle, one at a
// time, in this order: Opened, Sealed or Head; Data as often as there is data; End; and, for a
// process, Exit. Error comes instead of any of them, or after it. Exit and Error are each the last
// call. Drained may come anywhere between the first and the last call; for an HTTP exchange, also
// before its Head.
//
// No call begins after the handle was closed, but a call that began before may still be running. So
// a receiver that reuses its handle numbers must know for which handle a call was meant.
//
// A Sink may be an [InlineSink] too.
type Sink interface {
	// Opened: the process runs, or the peer is connected.
	Opened()

	// Sealed is Opened with the bytes that sign in to the peer. The guest must not see them. The
	// sink may keep blob.
	Sealed(blob []byte)

	// Head: an HTTP response began. headers are those that a guest may see, with names in lower
	// case. length is the length of the body as the server announces it, or below zero. body is the
	// part of the body that has come so far; it is valid during the call. Head
	// returns when Data would, and more Data follows. If last is set, Head does not wait for the
	// guest, and no Data follows.
	Head(status int, headers []abi.Pair, length int64, body []byte, last bool)

	// Data lends p until it returns; this is the backpressure. After the handle or its table was
	// closed, a running Data must return soon. last says that no End follows.
	Data(p []byte, last bool)

	// End: the peer sends no more. The write side may still work.
	End()

	// Exit: the process and everything that it started have ended. It comes after End; output of
	// processes that live longer is awaited only for a grace. detail reads "exit status 3" or
	// "signal: killed"; code is -1 for a signal. unread says that the process certainly read
	// nothing of its input.
	Exit(code int, detail string, unread bool)

	// Error: the handle is of no more use. status is for the guest, err with all details for the
	// user.
	Error(status abi.Status, err error)

	// Drained: the unsent bytes fell to the low-water mark, after a Flush had left more.
	Drained()
}

// UnsentError is the error that a [Sink] gets for an HTTP request of which no byte was sent, because
// there was no connection.
type UnsentError struct{ Err error }

func (e *UnsentError) Error() string { return e.Err.Error() }
func (e *UnsentError) Unwrap() error { return e.Err }

// InlineSink is a [Sink] of an HTTP exchange for whose answer a caller may be waiting. That caller
// can run the exchange on its own goroutine, which saves waking another goroutine twice: to begin,
// and at the end.
type InlineSink interface {
	// OfferInline offers an exchange whose request is complete. It is called within Flush and does
	// not wait. If it returns true, a caller calls Run.
	OfferInline(x InlineIO) (taken bool)
}

// InlineIO is an HTTP exchange that a waiting caller may run.
type InlineIO interface {
	// Run sends the request and passes on its answer if that is complete at once, or the first part
	// of an event stream. It leaves the rest to the table of the exchange. It is called once. It
	// takes no longer than the server does, unless the sink blocks.
	Run()

	// Stop ends the exchange as Close does, but the sink still gets the Error. A running Run
	// returns as soon as the network lets go of it. Any goroutine may call Stop, also before and
	// after Run. It does not wait.
	Stop()
}
