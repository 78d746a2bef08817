package sdk

import "github.com/wharf-mcp/wharf/abi"

// Conn is a transport's connection to the host. It has all host calls
// except those on the bytes of an event. It is valid as long as the
// transport is.
type Conn struct {
	port  port
	buf   []byte // scratch of one host call; it keeps its capacity
	block []byte // likewise, for the block at the beginning of an event
	facts abi.FactsReader
	head  abi.HeadReader
}

// Open opens the target of a grant. exchange is the exchange that the handle belongs to, or 0
// for the connection as a whole. The handle can be written to at once; OPENED or ERROR tells
// later whether the other side is there. An error carries the status with which the host
// refused.
func (c *Conn) Open(kind abi.OpenKind, exchange uint32, r *abi.OpenRequest) (Handle, error) {
	c.buf = abi.AppendOpenRequest(c.buf[:0], r)
	return c.OpenBlock(kind, exchange, c.buf)
}

// OpenBlock is [Conn.Open] with a request that is encoded already: see
// [abi.OpenWriter].
func (c *Conn) OpenBlock(kind abi.OpenKind, exchange uint32, block []byte) (Handle, error) {
	h := c.port.open(uint32(kind), exchange, block)
	if h < 0 {
		return Handle{}, refusal(kind, block, abi.Status(h))
	}
	return Handle{conn: c, id: uint32(h)}, nil
}

func refusal(kind abi.OpenKind, block []byte, s abi.Status) error {
	r, _ := abi.DecodeOpenRequest(block)
	return Fail(s, "open "+kind.String()+" "+r.Grant+": "+s.String())
}

// Deliver hands data to the host as a message of exchange, or as a part of one. [abi.More] says
// that the message goes on, [abi.End] completes it, [abi.Abort] drops the parts so far. Use
// Deliver for bytes that the guest made, by decoding or unmasking; [Payload.Deliver] delivers
// bytes of an event.
func (c *Conn) Deliver(exchange uint32, data []byte, flags uint32) abi.Verdict {
	return abi.Verdict(c.port.deliverMem(exchange, data, flags))
}

// Up says that the connection carries messages from now on.
func (c *Conn) Up() { c.report(abi.ReportUp, 0, abi.OK, nil) }

// Done ends an exchange well.
func (c *Conn) Done(exchange uint32) { c.report(abi.ReportDone, exchange, abi.OK, nil) }

// Failed ends an exchange with a status and a text for people. Exchange 0 is
// the connection itself.
func (c *Conn) Failed(exchange uint32, s abi.Status, text string) {
	c.report(abi.ReportFailed, exchange, s, c.text(text))
}

// Expired says that the server has forgotten the session in which this exchange was sent, as its
// answer shows. The host makes a new handshake, unless it already has. Expired does not end the
// exchange: call [Conn.Failed] after it, with [abi.Refused] if the message was not processed and
// may be sent again.
func (c *Conn) Expired(exchange uint32, text string) {
	c.report(abi.ReportExpired, exchange, abi.OK, c.text(text))
}

// Ended says that the guest needs nothing more after CLOSE.
func (c *Conn) Ended() { c.report(abi.ReportEnded, 0, abi.OK, nil) }

// Timer asks for a TIMER event with this id after ms milliseconds, in place of
// an earlier one of the same id; 0 cancels it.
func (c *Conn) Timer(id, ms uint32) abi.Status {
	return abi.Status(c.port.timer(id, ms))
}

// Save keeps a small blob that a later instance gets with RESUME.
func (c *Conn) Save(blob []byte) abi.Status {
	return abi.Status(c.port.save(blob))
}

// Log writes a line to the trace, for a person who looks for a fault.
func (c *Conn) Log(level abi.Level, text string) {
	c.port.log(uint32(level), c.text(text))
}

func (c *Conn) report(what abi.What, exchange uint32, s abi.Status, data []byte) abi.Status {
	return abi.Status(c.port.report(uint32(what), exchange, uint32(s), data))
}

// text returns the bytes of s. They are valid until the next host call.
func (c *Conn) text(s string) []byte {
	c.buf = append(c.buf[:0], s...)
	return c.buf
}

// Handle refers to an open process, stream or HTTP exchange. Handles are compared with ==. The
// zero Handle is closed.
type Handle struct {
	conn *Conn
	id   uint32
}

// ID returns the number of h in traces.
func (h Handle) ID() uint32 { return h.id }

// Write queues data. With [abi.End] nothing more can be written: the stdin of a process is
// closed, an HTTP request is sent. All data that one event queues leaves together. The caller
// may reuse data at once.
func (h Handle) Write(data []byte, flags uint32) abi.Status {
	if h.conn == nil {
		return abi.Closed
	}
	return abi.Status(h.conn.port.write(h.id, data, flags))
}

// Forward queues bytes of the current event without copying them. Flags are
// those of [Handle.Write].
func (h Handle) Forward(p Payload, flags uint32) abi.Status {
	if h.conn == nil {
		return abi.Closed
	}
	return abi.Status(h.conn.port.forward(h.id, p.base, p.size, flags))
}

// Close closes h; no event comes for it any more.
func (h Handle) Close() abi.Status {
	if h.conn == nil {
		return abi.Closed
	}
	return abi.Status(h.conn.port.close(h.id))
}
