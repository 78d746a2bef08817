package sdk

import "github.com/wharf-mcp/wharf/abi"

// Payload is a window on the bytes of the current event, used like a slice. The bytes
// stay with the host. The window is valid until the method that was called with it
// returns. A sealed window (see [Event.Sealed]) has a length and can be forwarded, and
// nothing else: Take and Bytes give no bytes of it, Scan finds nothing, Deliver is
// denied.
type Payload struct {
	conn *Conn
	base uint32 // where the window begins in the event's bytes
	size uint32
}

// Conn returns the connection of the event.
func (p Payload) Conn() *Conn { return p.conn }

// Len returns the number of bytes in the window.
func (p Payload) Len() int { return int(p.size) }

// Slice returns the part from one offset to another. Like the slicing of a slice it panics if
// they are out of range, which ends the guest.
func (p Payload) Slice(from, to int) Payload {
	if from < 0 || to < from || to > int(p.size) {
		panic("sdk: slice outside of the payload")
	}
	return Payload{conn: p.conn, base: p.base + uint32(from), size: uint32(to - from)}
}

// From returns the part that begins at an offset.
func (p Payload) From(off int) Payload { return p.Slice(off, int(p.size)) }

// Scan returns the offset of the first of up to four bytes, or -1. needles
// comes from [abi.PackNeedles], once and not per call. The host does the
// search, many times faster than a loop in the guest could.
func (p Payload) Scan(needles uint32) int {
	i := p.conn.port.scan(p.base, needles)
	if i < 0 || uint32(i)-p.base >= p.size {
		return -1
	}
	return int(uint32(i) - p.base)
}

// Take copies the beginning of the window into buf and returns the number of bytes.
// A buffer in the transport's struct is used again and again, and leaves no
// garbage.
func (p Payload) Take(buf []byte) int {
	buf = buf[:min(len(buf), int(p.size))]
	if len(buf) == 0 {
		return 0
	}
	return max(0, int(p.conn.port.take(p.base, buf)))
}

// Deliver hands the window to the host as a message of exchange, or as a part
// of one. Flags are those of [Conn.Deliver].
func (p Payload) Deliver(exchange, flags uint32) abi.Verdict {
	return abi.Verdict(p.conn.port.deliver(exchange, p.base, p.size, flags))
}

// Bytes returns a copy of the whole window. It is for small and rare things: settings, heads,
// the text of an error.
func (p Payload) Bytes() []byte {
	b := make([]byte, p.size)
	return b[:p.Take(b)]
}

// Event is any event from the host but a message.
type Event struct {
	Payload
	Kind   abi.Kind
	Handle Handle // the handle of the event; in TIMER, its id is that of the timer
	Arg    uint32 // CANCEL: the exchange; for other kinds use the methods
}

// Sealed reports whether an OPENED has credentials for the server as its payload. A transport
// puts them into the stream with [Handle.Forward], to the handle of the event. It must do so
// before Handle returns: afterwards they are gone.
func (e Event) Sealed() bool { return e.Kind == abi.EventOpened && e.Arg&abi.Sealed != 0 }

// Last reports whether this is the last event for the handle: an END, or a HEAD or DATA with the
// flag that stands for one.
func (e Event) Last() bool {
	switch e.Kind {
	case abi.EventData:
		return e.Arg&abi.Last != 0
	case abi.EventHead:
		return e.Arg&abi.HeadLast != 0
	}
	return e.Kind == abi.EventEnd
}

// Status returns the status of an ERROR.
func (e Event) Status() abi.Status { return abi.Status(int32(e.Arg)) }

// ExitCode returns the exit code of an EXIT, or -1 where a signal ended the
// process. The payload is the end of what it wrote to its stderr.
func (e Event) ExitCode() int { return int(int32(e.Arg)) }

// HTTPStatus returns the status code of a HEAD.
func (e Event) HTTPStatus() int { return int(e.Arg & 0xffff) }

// Head returns the headers of a HEAD, and the first bytes of the body. The head,
// and whatever it returns, is valid until Handle returns.
func (e Event) Head() (*abi.HeadReader, Payload, error) {
	c := e.conn
	size, err := e.takeBlock()
	if err == nil {
		err = c.head.Read(c.block)
	}
	return &c.head, e.From(size), err
}

// firstLook is how many bytes of an event are taken at first to learn the length of its block.
// Most blocks are shorter.
const firstLook = 256

// takeBlock copies the block at the beginning of p into the connection's block buffer. It
// returns the block's length, or 0 if there is none.
func (p Payload) takeBlock() (size int, err error) {
	c := p.conn
	c.block = p.takeInto(c.block, firstLook)
	size, whole := abi.BlockSize(c.block)
	if size == 0 || size > p.Len() {
		return 0, Fail(abi.Malformed, "a block is longer than its event")
	}
	if !whole {
		c.block = p.takeInto(c.block, size)
	}
	c.block = c.block[:size]
	return size, nil
}

// takeInto copies up to n bytes from the beginning of p into buf, or into a longer buffer, and
// returns the copy.
func (p Payload) takeInto(buf []byte, n int) []byte {
	if n = min(n, p.Len()); n > cap(buf) {
		buf = make([]byte, max(n, firstLook))
	}
	buf = buf[:n]
	return buf[:p.Take(buf)]
}

// Message is one outgoing JSON-RPC message. Its window is the message without its facts.
type Message struct {
	Payload
	Exchange uint32
}

// Facts returns the host's facts about the message. They, and their slices, are
// valid until Message returns. A transport that does not look at messages need not
// call it.
func (m Message) Facts() (*abi.FactsReader, error) {
	c := m.conn
	c.block = Payload{conn: c, size: m.base}.takeInto(c.block, int(m.base))
	return &c.facts, c.facts.Read(c.block)
}

// Fail reports that m was not sent and why. Use it as the last statement of a Message method
// that cannot send but keeps the connection.
func (m Message) Fail(s abi.Status, text string) (Outcome, error) {
	m.conn.Failed(m.Exchange, s, text)
	return Later, nil
}

func (c *Conn) event(kind abi.Kind, handle, arg, size uint32) Event {
	return Event{
		Payload: Payload{conn: c, size: size},
		Kind:    kind,
		Handle:  Handle{conn: c, id: handle},
		Arg:     arg,
	}
}

// message makes the window of a MESSAGE. The facts stand before start.
func (c *Conn) message(start, exchange, size uint32) Message {
	return Message{
		Payload:  Payload{conn: c, size: size}.From(int(start)),
		Exchange: exchange,
	}
}
