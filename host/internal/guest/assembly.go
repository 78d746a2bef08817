package guest

import (
	"fmt"

	"github.com/wharf-mcp/wharf/abi"
)

// headSize is how much of a message over the cap is kept, to find whose call
// it would have answered.
const headSize = 4 << 10

// maxPartials is how many exchanges may have a message under way at once. A
// guest that reads each of them from a handle does not come near it.
const maxPartials = 1024

// partial collects a message that arrives in parts.
type partial struct {
	data    []byte
	dropped int // bytes let go since it went over the cap; data is then its beginning
}

// maxOverrun is how many message caps of one message are let go before the
// connection is given up: its end is not to be expected.
const maxOverrun = 32

// partials are the messages under way: nearly always none or one, on the
// shared channel, which therefore has a place of its own.
type partials struct {
	shared  partial
	private map[uint32]*partial
	total   int    // bytes of memory held, see Instance.space
	spare   []byte // a buffer for the next message that is cut by the end of a chunk
}

// spareSize is how large a message may be to be collected in the spare buffer
// and copied by the receiver. The buffer of a larger one is given away.
const spareSize = 128 << 10

// open returns the assembly of an exchange, made if need be; nil means that
// there are too many.
func (a *partials) open(exchange uint32) *partial {
	if exchange == 0 {
		return &a.shared
	}
	if m := a.private[exchange]; m != nil {
		return m
	}
	if len(a.private) >= maxPartials {
		return nil
	}
	if a.private == nil {
		a.private = make(map[uint32]*partial)
	}
	m := &partial{}
	a.private[exchange] = m
	return m
}

// started reports whether a message of the exchange is under way.
func (a *partials) started(exchange uint32) bool {
	if exchange == 0 {
		return a.shared.dropped > 0 || len(a.shared.data) > 0
	}
	return a.private[exchange] != nil
}

// forget drops what was collected for an exchange.
func (a *partials) forget(exchange uint32) {
	if exchange == 0 {
		a.total -= cap(a.shared.data)
		a.shared = partial{}
	} else if m := a.private[exchange]; m != nil {
		a.total -= cap(m.data)
		delete(a.private, exchange)
	}
}

// add appends p to m, or, past the cap or where space is not enough, drops all but
// the head. whole is how long the message is said to become, or 0; space is how many
// more bytes may be held.
func (a *partials) add(m *partial, p []byte, whole, limit, space int) {
	if m.dropped > 0 {
		m.dropped += len(p)
		return
	}
	most := cap(m.data) + max(space, 0)
	if len(m.data)+len(p) > min(limit, most) {
		keep := min(headSize, len(m.data)+len(p))
		head := append(make([]byte, 0, keep), m.data[:min(keep, len(m.data))]...)
		head = append(head, p[:keep-len(head)]...)
		a.total += cap(head) - cap(m.data)
		m.data, m.dropped = head, len(p)
		return
	}
	a.total -= cap(m.data)
	m.data = append(a.grow(m.data, len(p), min(whole, limit), min(limit, most)), p...)
	a.total += cap(m.data)
}

// announced is how many times what has come of a message may be kept free for
// the rest of it, on the server's word alone.
const announced = 16

// grow returns data with room for n more bytes: in the spare buffer, if there
// is one and it will do. Doubling, where append would add a quarter, copies a
// long message twice instead of four times; where its length is known, it is
// hardly copied at all.
func (a *partials) grow(data []byte, n, whole, limit int) []byte {
	need := len(data) + n
	if need <= cap(data) {
		return data
	}
	if data == nil && max(need, whole) <= cap(a.spare) {
		data, a.spare = a.spare[:0], nil
		return data
	}
	room := min(max(need, 2*cap(data), 4<<10), limit)
	if need <= whole {
		room = min(whole, announced*need, limit)
	}
	return append(make([]byte, 0, room), data...)
}

// keep takes back the buffer of a message that the receiver has copied.
func (a *partials) keep(data []byte) {
	if cap(data) > cap(a.spare) {
		a.spare = data[:0]
	}
}

// deliver takes bytes of an inbound message from the guest.
func (i *Instance) deliver(exchange uint32, p []byte, flags uint32) abi.Verdict {
	in := &i.inbound
	if flags&abi.Abort != 0 {
		in.forget(exchange)
		return abi.VerdictPending
	}
	if flags&abi.End != 0 && !in.started(exchange) && len(p) <= i.limits.MessageCap {
		return i.handOver(exchange, p, false)
	}
	m := in.open(exchange)
	if m == nil {
		i.caller.Trap(fmt.Errorf("parts of messages for more than %d exchanges at once", maxPartials))
	}
	in.add(m, p, i.expected(exchange), i.limits.MessageCap, i.space())
	if m.dropped/maxOverrun > i.limits.MessageCap {
		i.fail(&EndedError{Cause: errEndless})
	}
	if flags&abi.End == 0 {
		return abi.VerdictPending
	}
	whole := *m
	in.forget(exchange)
	if whole.dropped > 0 {
		i.receiver.TooBig(exchange, whole.data)
		return abi.VerdictTooBig
	}
	if cap(whole.data) > spareSize {
		return i.handOver(exchange, whole.data, true)
	}
	defer in.keep(whole.data)
	return i.handOver(exchange, whole.data, false)
}

// expected is how long the message of an exchange will be, if the bytes are those
// of an HTTP body that said so. A server may lie, and a guest deliver something
// else: it is a hint.
func (i *Instance) expected(exchange uint32) int {
	if i.current.kind != abi.EventHead && i.current.kind != abi.EventData {
		return 0
	}
	h := i.lookup(i.current.handle)
	if h == nil || h.exchange != exchange || h.kind != abi.OpenHTTP {
		return 0
	}
	return int(min(max(h.length, 0), int64(i.limits.MessageCap)))
}

// handOver passes a whole message on.
func (i *Instance) handOver(exchange uint32, msg []byte, owned bool) abi.Verdict {
	v := i.receiver.Deliver(exchange, msg, owned)
	if v == abi.VerdictAnswer {
		i.answered++
	}
	return v
}
