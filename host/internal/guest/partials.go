package guest

// headSize is how many bytes of the beginning of a message over the cap are kept, to find the call
// that it would have answered.
const headSize = 4 << 10

// partial collects a message that arrives in parts.
type partial struct {
	data    []byte
	dropped int    // bytes dropped since the message exceeded the cap; data is then its beginning
	tail    []byte // and tail is its end
}

// tailEnd is how many bytes of the end of a message over the cap are kept: many servers write the
// id of an answer last.
const tailEnd = 256

// keepTail keeps the end of a message that is being dropped.
func (m *partial) keepTail(p []byte) {
	m.tail = append(m.tail, p[max(0, len(p)-tailEnd):]...)
	m.tail = append(m.tail[:0], m.tail[max(0, len(m.tail)-tailEnd):]...)
}

// maxOverrun is the length, in message caps, after which a message that is being dropped ends the
// connection: such a message may never end.
const maxOverrun = 32

// partials holds the messages that were delivered in part. There is nearly always at most one, on
// the shared channel, so that has a field of its own.
type partials struct {
	shared  partial
	private map[uint32]*partial
	total   int    // bytes of memory held, see Instance.space
	spare   []byte // a buffer for the next message that is cut by the end of a chunk
	usual   int    // the capacity to reserve for a long message, from the length of the last one
}

// open returns the partial message of an exchange, and makes it if there is none. It returns nil if
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

// started reports whether a part of a message of the exchange was delivered.
func (a *partials) started(exchange uint32) bool {
	if exchange == 0 {
		return len(a.shared.data) > 0 // data is not empty while a message is being dropped
	}
	return a.private[exchange] != nil
}

// forget drops the partial message of an exchange.
func (a *partials) forget(exchange uint32) {
	if exchange == 0 {
		a.total -= cap(a.shared.data)
		a.shared = partial{}
	} else if m := a.private[exchange]; m != nil {
		a.total -= cap(m.data)
		delete(a.private, exchange)
	}
}

// add appends p to m. Past limit, or without enough space, it drops all but the head. whole is the
// length that the message is said to have, or 0. space is how many more bytes may be held.
func (a *partials) add(m *partial, p []byte, whole, limit, space int) {
	if m.dropped > 0 {
		m.dropped += len(p)
		m.keepTail(p)
		return
	}
	most := cap(m.data) + max(space, 0)
	if len(m.data)+len(p) > min(limit, most) {
		keep := min(headSize, len(m.data)+len(p))
		m.keepTail(m.data)
		m.keepTail(p)
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

// announced bounds the memory that is reserved for the announced length of a message: at most this
// many times the bytes that have come.
const announced = 16

// grow returns data with room for n more bytes: in the spare buffer, if there is one that is large
// enough. It doubles where append would add a quarter, and so copies a long message twice and not
// four times. If the length is known, or the last message was as long, it hardly copies at all.
func (a *partials) grow(data []byte, n, whole, limit int) []byte {
	need := len(data) + n
	if need <= cap(data) {
		return data
	}
	if data == nil && max(need, whole) <= cap(a.spare) {
		data, a.spare = a.spare[:0], nil
		return data
	}
	if whole == 0 && need > spareSize/2 {
		whole = a.usual
	}
	room := min(max(need, 2*cap(data), 4<<10), limit)
	if need <= whole {
		room = min(whole, announced*need, limit)
	}
	return append(make([]byte, 0, room), data...)
}

// learn stores the length of a long message, and an eighth more, as the capacity for the next one.
func (a *partials) learn(size int) { a.usual = size + size/8 }

// keep takes back the buffer of a message that the receiver has copied.
func (a *partials) keep(data []byte) {
	if cap(data) > cap(a.spare) {
		a.spare = data[:0]
	}
}
