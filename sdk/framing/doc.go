// Package framing puts messages into a byte stream and finds them in one:
// [Lines] has one JSON text a line, [Lengths] a header with Content-Length
// before each text, and [Auto] finds out which of them a server speaks.
//
// A framer delivers to the shared exchange, leaves the bytes of messages with the
// host and does not allocate. It gets the payloads of DATA in order, and is told when
// the stream ends. It delivers the same messages, however the stream was cut into
// chunks.
package framing

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// Framer is one way to carry messages over a byte stream. A Framer serves one
// stream in both directions.
type Framer interface {
	// Send writes one message to h. A status below zero says that h is closed.
	Send(h sdk.Handle, message sdk.Payload) abi.Status

	// Data delivers what is complete with p, and streams what is not.
	Data(p sdk.Payload)

	// End says that the stream ended by itself: the last message is complete if it ends as a
	// message does. Otherwise the server was lost in the middle of it, and the rest is of no
	// use. After an error, End is not called.
	End(c *sdk.Conn)
}

// Named returns the framer that a setting names: [Lines] for the empty name,
// and nil for a name that no framer has.
func Named(name string) Framer {
	switch name {
	case "", "ndjson":
		return &Lines{}
	case "content-length":
		return &Lengths{}
	case "auto":
		return &Auto{}
	}
	return nil
}

// shared is the exchange of messages that came by a shared channel.
const shared = 0

var newline = abi.PackNeedles("\n")

// final is the last byte so far of a message that is not white space; 0 before it.
type final struct {
	last   byte
	window [64]byte // what of a payload is looked at
}

// note looks for it in p, which goes on where the last payload ended.
func (f *final) note(p sdk.Payload) {
	for end := p.Len(); end > 0; {
		from := max(0, end-len(f.window))
		for n := p.Slice(from, end).Take(f.window[:end-from]); n > 0; n-- {
			if c := f.window[n-1]; !isSpace(c) {
				f.last = c
				return
			}
		}
		end = from
	}
}

// closes reports whether a message may end so: each is an object or an array.
func (f *final) closes() bool { return f.last == '}' || f.last == ']' }
