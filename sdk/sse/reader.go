package sse

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// Reader reads one event stream (WHATWG HTML, 9.2.6): UTF-8 with or without a
// byte order mark, lines that end with CR, LF or both, comments, and fields of
// which data, event, id and retry mean something. An event named message, or
// not named at all, is a message; its data are delivered. The zero value is
// ready for a stream of the shared channel.
//
// Data lines are delivered with their line ends, which are white space in JSON, so that several
// lines need no joining. An event that is complete within one payload is delivered in one piece,
// which spares the host from collecting it.
type Reader struct {
	// Exchange is the exchange that messages are delivered to.
	Exchange uint32

	// Keep bounds how many bytes of data are copied for [Reader.Kept]. The data of an event that
	// was named message before are not copied.
	Keep int

	state  state
	begun  bool   // the start was checked for a byte order mark
	marked int    // bytes of it that were there
	cr     bool   // the last line ended with CR, so an LF that follows belongs to that end
	line   []byte // the beginning of a line that is cut and not known to be data

	event  event
	id     []byte // what ID returns
	retry  uint32
	window [128]byte
	tail   [4]byte
}

// event is the state of the current event.
type event struct {
	over    bool   // Next has returned the end of the event
	seen    bool   // it has a field that is known
	data    bool   // it has a data line
	open    bool   // a part of its data is delivered
	size    int    // bytes of data
	name    []byte // its buffer is used again for the next event
	id      []byte // likewise; counts when the event is complete
	hasID   bool
	kept    []byte // likewise
	cut     bool   // kept is not all of the data
	verdict abi.Verdict
}

// state is the place in a line at which the stream stands.
type state uint8

const (
	inLine state = iota // the start of a line, or anywhere in one that is no data
	inData              // the value of a data line
	inRest              // bytes without interest, up to the end of the line
)

const (
	// maxID is the longest id that is remembered; longer ones are ignored.
	maxID = 1 << 10

	// maxLine bounds how much of a line is looked at: the values that matter are shorter.
	maxLine = maxID + 16
)

var (
	lineEnds = abi.PackNeedles("\r\n")
	mark     = [3]byte{0xEF, 0xBB, 0xBF}
)

// Next reads p up to the end of an event and returns the bytes after it. ok is false if p ends
// first. The methods below describe that event until Next is called again. Comments are no
// events, nor are blocks without a field.
func (r *Reader) Next(p sdk.Payload) (rest sdk.Payload, ok bool) {
	if r.event.over {
		r.forget()
	}
	for p.Len() > 0 && !ok {
		switch r.state {
		case inData:
			p, ok = r.data(p)
		case inRest:
			p = r.skip(p)
		default:
			p, ok = r.look(p)
		}
	}
	return p, ok
}

// Verdict returns the host's verdict on the event's message. It is BLANK if the event had no
// data or was no message.
func (r *Reader) Verdict() abi.Verdict { return r.event.verdict }

// Named reports whether the event has that name.
func (r *Reader) Named(name string) bool { return string(r.event.name) == name }

// Kept returns the copy of the event's data, and whether the copy is complete. It is valid until
// the next call of Next.
func (r *Reader) Kept() (data []byte, whole bool) { return r.event.kept, !r.event.cut }

// Size returns how many bytes of data the current event has so far. Its caller gives up at some
// size, since a stream may never end an event.
func (r *Reader) Size() int { return r.event.size }

// ID returns the id to resume from: that of the last complete event that had one. A header can
// hold it. The bytes are valid until the next call of Next.
func (r *Reader) ID() []byte { return r.id }

// HasID reports whether the event had an id.
func (r *Reader) HasID() bool { return r.event.hasID }

// SetID makes id the one to resume from. An id that no header could hold is forgotten.
func (r *Reader) SetID(id string) {
	if r.id = append(r.id[:0], id...); !sendable(r.id) {
		r.id = r.id[:0]
	}
}

// Retry returns how many milliseconds the server wants a client to wait before it comes again.
// It is 0 if the server did not say.
func (r *Reader) Retry() uint32 { return r.retry }

// Restart makes r ready for a stream that continues this one. It drops an event that was not
// complete, and keeps ID and Retry.
func (r *Reader) Restart(c *sdk.Conn) {
	if r.event.open {
		c.Deliver(r.Exchange, nil, abi.Abort)
	}
	r.restart()
}

// Reset makes r ready for another stream of an exchange, and keeps only its buffers.
func (r *Reader) Reset(exchange uint32) {
	r.restart()
	r.Exchange, r.id, r.retry = exchange, r.id[:0], 0
}

func (r *Reader) restart() {
	r.forget()
	r.state, r.begun, r.marked, r.cr, r.line = inLine, false, 0, false, r.line[:0]
}

// forget starts a new event.
func (r *Reader) forget() {
	e := &r.event
	*e = event{name: e.name[:0], id: e.id[:0], kept: e.kept[:0]}
}
