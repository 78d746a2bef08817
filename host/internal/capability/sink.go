package capability

import "github.com/wharf-mcp/wharf/abi"

// Sink hears what happens to one open handle. The calls come from goroutines
// of the handle, one at a time, in this order: Opened or Sealed, Data as often as
// there is data, End, and for a process Exit. Error comes instead of or after any
// of them. Exit and Error are each the last call. Drained may come anywhere
// between the first and the last call; of an HTTP exchange, before its Head too.
//
// No call begins after the handle was closed. One that had already begun then
// may still be running, so a receiver that reuses a slot has to tell by itself
// which handle a call was meant for.
type Sink interface {
	// Opened: the process runs, the peer is connected.
	Opened()

	// Sealed is Opened with what signs in to the peer, which the guest of the
	// sink must not see. The sink may keep blob.
	Sealed(blob []byte)

	// Head: an HTTP response began; headers are those that a guest may see,
	// their names in lower case, length is that of the body, as the server
	// announces it, or below zero, and body what has come of it. It returns and
	// counts like Data, which follows unless last is set; then it does not wait.
	Head(status int, headers []abi.Pair, length int64, body []byte, last bool)

	// Data hands over p until it returns; that is the backpressure. After the
	// handle or its table was closed, a Data under way must return soon.
	// last says that no End follows.
	Data(p []byte, last bool)

	// End: the peer sends no more. The write side may still work.
	End()

	// Exit: the process is over, and so is everything it started. It comes
	// after End; output that outlives the process is waited for only for a
	// grace. detail reads "exit status 3" or "signal: killed"; code is -1
	// for a signal.
	Exit(code int, detail string)

	// Error: the handle is of no more use. status is what a guest may know,
	// err the full story for the user.
	Error(status abi.Status, err error)

	// Drained: the unsent bytes fell to the low-water mark, after more than
	// that had been left over by a Flush.
	Drained()
}

// Carrier is a Sink behind which somebody may wait for the answer to an exchange,
// and carry the exchange on its own goroutine until then.
type Carrier interface {
	// Carry is offered an exchange whose request is whole. It comes within Flush,
	// and does not wait. If it reports true, Run is called, by whoever it is.
	Carry(e Errand) bool
}

// Errand is an exchange for others to carry.
type Errand = interface {
	// Run sends the request and says its answer, if that is whole at once;
	// otherwise it leaves the rest to the table. It is called once. Where the
	// sink waits for nobody, it takes no longer than the server does.
	Run()

	// Stop ends the exchange as Close does, but the sink hears of it, in its own
	// time: Run returns as soon as it has let go of the network. It may be called
	// by anyone, before and after Run too, and does not wait.
	Stop()
}

// Stream is the write side of an open handle. Only the owner of the guest
// calls it, and no method blocks. Bytes that are written before Opened wait.
type Stream interface {
	// Write queues p, which must stay as it is until Flush returns. end
	// closes the write side once everything before it is sent; what is
	// written after it is dropped.
	Write(p []byte, end bool)

	// Flush offers everything that is queued to the system in one call. What
	// the system does not take is copied and sent from a goroutine.
	Flush()

	// Queued is the number of bytes that were written and that the system has
	// not taken. It is zero once the write side is broken or closed.
	Queued() int

	// Close flushes, starts the end of the handle and returns. A peer that is
	// connected is still offered what was queued, within the grace; one that
	// is not is given up. The sink hears nothing more. Close may be called
	// again.
	Close()
}
