package guest

import (
	"sync"
	"time"

	"github.com/wharf-mcp/wharf/abi"
)

// eventStop is not an event of the ABI. It makes the owner end the guest.
const eventStop abi.Kind = 0

// eventDrained is not an event of the ABI. It tells the owner that a handle can take more bytes
// again.
const eventDrained abi.Kind = 1 << 30

// item is an event on its way to the guest.
type item struct {
	kind    abi.Kind
	handle  uint32
	arg     uint32
	payload []byte
	msg     Message       // of a MESSAGE
	seen    chan struct{} // gets a token when the guest is done with the payload
	cause   error         // for the user: of an ERROR or EXIT, or of the end of the connection; nil if Close is the reason
	length  int64         // of a HEAD: the length of the body
	wait    time.Duration // of a HEAD: how long it asks to wait
	buffer  *[]byte       // the buffer that holds the payload of a HEAD, unless a Head waits for it

	message   uint32 // of an event of a handle: the exchange in [handle].message
	essential bool   // the event may end the connection, whatever the guest does
	forwarded bool   // the guest has forwarded part of its sealed payload
}

// drop releases an event that will not run.
func (it *item) drop() {
	if it.msg != nil {
		it.msg.Free()
	}
	it.release()
}

// release frees the payload of an event.
func (it *item) release() {
	if it.seen != nil {
		it.seen <- struct{}{}
	}
	if it.buffer != nil {
		freeHead(it.buffer)
	}
}

// sealed reports whether the guest must not see the payload.
//
// A sealed payload holds the credentials for the server of a stream, and comes with the OPENED of
// that stream. The guest calls forward to say where in the stream they go. Every other host call
// keeps the payload from the guest. The bytes are written nowhere else: not to the trace, not into
// an error, not into memory that the next event may use.
func (it *item) sealed() bool { return it.kind == abi.EventOpened && it.arg&abi.Sealed != 0 }

// queue is a first-in, first-out list that reuses its memory.
type queue struct {
	items []item
	head  int
}

func (q *queue) empty() bool { return q.head == len(q.items) }

func (q *queue) push(it item) {
	if len(q.items) == cap(q.items) && 2*q.head > len(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, it)
}

// pop moves the first item to it, and reports whether there was one.
func (q *queue) pop(it *item) bool {
	if q.head == len(q.items) {
		return false
	}
	*it, q.items[q.head] = q.items[q.head], item{}
	if q.head++; q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return true
}

// remove removes and returns the MESSAGE of an exchange.
func (q *queue) remove(exchange uint32) (item, bool) {
	for n := q.head; n < len(q.items); n++ {
		if q.items[n].arg == exchange {
			it := q.items[n]
			copy(q.items[n:], q.items[n+1:])
			q.items[len(q.items)-1] = item{}
			q.items = q.items[:len(q.items)-1]
			return it, true
		}
	}
	return item{}, false
}

// heads holds buffers for reuse. A buffer has room for one head and the part of the body that comes
// with it.
var heads = sync.Pool{New: func() any { return new([]byte) }}

func freeHead(b *[]byte) {
	if cap(*b) > keepStash {
		*b = nil
	}
	heads.Put(b)
}
