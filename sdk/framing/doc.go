// Package framing puts messages into a byte stream and finds them in one:
// [Lines] has one JSON text a line, [Lengths] a header with Content-Length
// before each text, and [Auto] finds out which of them a server speaks.
//
// A framer delivers to the shared exchange, leaves the bytes of messages with
// the host and does not allocate. It is fed with the payloads of DATA in
// order, and told when the stream is over; how the stream was cut into chunks
// makes no difference to what it delivers.
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

	// End says that the stream ended by itself: what came last is complete.
	// After an error it is not called, half a message being of no use.
	End(c *sdk.Conn)
}

// Named returns the framer that a setting names, [Lines] for no name at all;
// it returns nil for a name that no framer has.
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
