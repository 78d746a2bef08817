package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

const (
	// fragment is the longest payload of a frame that we send, in bytes. A longer message
	// goes out in several frames, so that no whole message is ever in this memory.
	fragment = 16 << 10

	// longestHead is the length of a masked frame's head whose length field has two bytes,
	// which is enough for a fragment.
	longestHead = 2 + 2 + 4
)

// writer makes frames. It masks each with a key of its own, so that a client cannot choose
// the bytes that a proxy on the way sees (section 10.3). Only for that do message bytes
// pass through the guest.
type writer struct {
	transport *transport
	key       [4]byte
	buf       [longestHead + fragment]byte
}

// text sends a message as one text message.
func (w *writer) text(p sdk.Payload) abi.Status {
	opcode := byte(opText)
	for {
		n := min(p.Len(), fragment)
		p.Slice(0, n).Take(w.body(n))
		p = p.From(n)
		if p.Len() == 0 {
			return w.send(opcode|final, n)
		}
		if s := w.send(opcode, n); s < abi.OK {
			return s
		}
		opcode = opContinuation
	}
}

// control sends a control frame; payload has up to 125 bytes.
func (w *writer) control(opcode byte, payload []byte) abi.Status {
	copy(w.body(len(payload)), payload)
	return w.send(opcode|final, len(payload))
}

// close sends a close frame.
func (w *writer) close(code uint16) abi.Status {
	return w.control(opClose, []byte{byte(code >> 8), byte(code)})
}

// body returns the place for a payload of n bytes, behind the longest head. A shorter head
// fits in front of it as well.
func (w *writer) body(n int) []byte { return w.buf[longestHead : longestHead+n] }

// send masks the body, puts the head in front of it and queues both.
func (w *writer) send(first byte, n int) abi.Status {
	w.transport.fill(&w.key)
	start := longestHead - 4
	copy(w.buf[start:], w.key[:])
	if n < extended16 {
		start -= 2
		w.buf[start+1] = masked | byte(n)
	} else {
		start -= 4
		w.buf[start+1], w.buf[start+2], w.buf[start+3] = masked|extended16, byte(n>>8), byte(n)
	}
	w.buf[start] = first
	mask(w.body(n), w.key)
	return w.transport.socket.Write(w.buf[start:longestHead+n], abi.More)
}

// mask masks b, or unmasks it (section 5.3). It takes eight bytes at a time, because it makes up
// most of the cost of a long message.
func mask(b []byte, key [4]byte) {
	word := uint64(key[0]) | uint64(key[1])<<8 | uint64(key[2])<<16 | uint64(key[3])<<24
	word |= word << 32
	i := 0
	for ; i+8 <= len(b); i += 8 {
		p := b[i : i+8]
		put(p, get(p)^word)
	}
	for ; i < len(b); i++ {
		b[i] ^= key[i%4]
	}
}

// get and put are one instruction each; package encoding/binary, which has the same,
// would bring reflection into the module.
func get(b []byte) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

func put(b []byte, v uint64) {
	_ = b[7]
	b[0], b[1], b[2], b[3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
	b[4], b[5], b[6], b[7] = byte(v>>32), byte(v>>40), byte(v>>48), byte(v>>56)
}
