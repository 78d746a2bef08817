package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// This file is the framing: how messages look on the stream. For another one,
// change it and nothing else. (Package sdk/framing has lines and Content-Length
// ready-made; this is written out because it is what a transport is about.)

// shared is the exchange of what comes on a stream that all messages share: the
// host finds by its id which call an answer belongs to.
const shared = 0

var (
	newline  = []byte("\n")
	newlines = abi.PackNeedles("\n")
)

// wire is what has to be remembered between two chunks.
type wire struct {
	partial bool // the beginning of a message has been delivered, and its end has not
}

// send queues one message and the newline that ends it; they leave together. A
// message has no newline in it, and its bytes are not copied into the plugin.
func (w *wire) send(stream sdk.Handle, message sdk.Payload) abi.Status {
	if status := stream.Forward(message, abi.More); status < abi.OK {
		return status
	}
	return stream.Write(newline, abi.More)
}

// receive finds the messages in a chunk. A chunk may hold many of them, and a part of one:
// that part is delivered as it is, and the host puts it together. The host also deals with
// bytes that are no JSON-RPC.
func (w *wire) receive(chunk sdk.Payload) {
	for chunk.Len() > 0 {
		end := chunk.Scan(newlines)
		if end < 0 {
			chunk.Deliver(shared, abi.More)
			w.partial = true
			return
		}
		if end > 0 || w.partial {
			chunk.Slice(0, end).Deliver(shared, abi.End)
		}
		w.partial = false
		chunk = chunk.From(end + 1)
	}
}

// end is told that nothing more will come: a last message may lack its newline.
func (w *wire) end(c *sdk.Conn) {
	if w.partial {
		c.Deliver(shared, nil, abi.End)
	}
	w.partial = false
}
