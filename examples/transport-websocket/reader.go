package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// The first two bytes of a frame (section 5.2).
const (
	final    = 1 << 7
	reserved = 7 << 4
	masked   = 1 << 7

	opContinuation = 0
	opText         = 1
	opBinary       = 2
	opClose        = 8
	opPing         = 9
	opPong         = 10

	extended16 = 126 // the length is in the next two bytes
	extended64 = 127 // the length is in the next eight

	longestControl = 125
)

// shared is the exchange of messages that come by a channel that all exchanges share.
const shared = 0

// reader finds messages in the server's stream. It looks at every byte through a window of
// its own, since a text has to be UTF-8. The payloads of data frames are delivered from the
// host's memory, part by part as they come, so the guest never holds a whole message. The
// reader finds the same messages, however the stream was cut.
type reader struct {
	transport *transport

	head   [10]byte // of the current frame, the bytes that have come
	have   int      // the number of those bytes
	left   uint64   // of the payload, once the head is whole
	begun  bool     // a message has begun and not ended
	utf8   utf8Check
	signal [longestControl]byte // the payload of a control frame
	heard  int                  // the number of its bytes that have come
	window [16 << 10]byte
}

// data takes the next bytes of the stream.
func (r *reader) data(p sdk.Payload) error {
	for p.Len() > 0 {
		n := p.Take(r.window[:])
		if err := r.chunk(p.Slice(0, n), r.window[:n]); err != nil {
			return err
		}
		p = p.From(n)
	}
	return nil
}

// chunk takes the next bytes: b is the copy of them here, and p their window in the host.
// It ignores bytes after the close frame of the server.
func (r *reader) chunk(p sdk.Payload, b []byte) error {
	for i := 0; i < len(b) && !r.transport.over; {
		whole := r.have > 0 && r.have == r.headLen()
		if !whole {
			r.head[r.have] = b[i]
			r.have++
			i++
			if r.have < 2 || r.have < r.headLen() {
				continue
			}
			if err := r.begin(); err != nil {
				return err
			}
			if r.left > 0 {
				continue // until there is some of it
			}
		}
		n := int(min(r.left, uint64(len(b)-i)))
		r.left -= uint64(n)
		if err := r.payload(p.Slice(i, i+n), b[i:i+n]); err != nil {
			return err
		}
		i += n
		if r.left == 0 {
			r.have = 0
		}
	}
	return nil
}

// headLen returns the length of the current head, or 2 while that is not known.
func (r *reader) headLen() int {
	if r.have >= 2 {
		switch r.head[1] &^ masked {
		case extended16:
			return 2 + 2
		case extended64:
			return 2 + 8
		}
	}
	return 2
}

func (r *reader) opcode() byte { return r.head[0] &^ (final | reserved) }

func (r *reader) isFinal() bool { return r.head[0]&final != 0 }

func (r *reader) isControl() bool { return r.opcode() >= opClose }

// begin handles a head that is whole.
func (r *reader) begin() error {
	if wrong := r.wrong(); wrong != "" {
		return r.transport.fail(abi.ProtocolFailed, 1002, "the server sent "+wrong)
	}
	if r.opcode() == opBinary {
		return r.transport.fail(abi.ProtocolFailed, 1003, "the server sent a binary message; MCP is text")
	}
	if r.heard = 0; !r.isControl() {
		r.begun = !r.isFinal()
	}
	return nil
}

// wrong says which rule a head breaks, or returns "". It sets left to the length of the
// payload (sections 5.1, 5.2, 5.4 and 5.5).
func (r *reader) wrong() string {
	minimal := r.length()
	switch op := r.opcode(); {
	case r.head[0]&reserved != 0:
		return "a frame with reserved bits, though no extension was agreed on"
	case op > opBinary && op < opClose || op > opPong:
		return "a frame of an unknown kind"
	case r.head[1]&masked != 0:
		return "a masked frame, which only clients do"
	case !minimal:
		return "a frame whose length is not written as it must be"
	case r.isControl() && !r.isFinal():
		return "a control frame in fragments"
	case r.isControl() && r.left > longestControl:
		return "a control frame of more than 125 bytes"
	case op == opContinuation && !r.begun:
		return "the continuation of no message"
	case (op == opText || op == opBinary) && r.begun:
		return "a message before the one in fragments has ended"
	}
	return ""
}

// length sets left to the length in the head, and reports whether it is written in as few
// bytes as possible and without the sign bit.
func (r *reader) length() (minimal bool) {
	r.left = uint64(r.head[1] &^ masked)
	if r.left < extended16 {
		return true
	}
	least := uint64(extended16)
	if r.left == extended64 {
		least = 1 << 16
	}
	r.left = 0
	for _, c := range r.head[2:r.headLen()] {
		r.left = r.left<<8 | uint64(c)
	}
	return r.left >= least && r.left < 1<<63
}

// payload takes the next bytes of a frame. r.left is the number of bytes after them.
func (r *reader) payload(p sdk.Payload, b []byte) error {
	if r.isControl() {
		r.heard += copy(r.signal[r.heard:], b)
		if r.left > 0 {
			return nil
		}
		return r.control(r.signal[:r.heard])
	}
	end := r.left == 0 && r.isFinal()
	if !r.utf8.add(b) || end && !r.utf8.end() {
		return r.transport.fail(abi.ProtocolFailed, 1007, "the server sent a text that is not UTF-8")
	}
	flags := uint32(abi.More)
	if end {
		flags = abi.End
	}
	if p.Len() > 0 || end {
		p.Deliver(shared, flags)
	}
	return nil
}

// control handles a control frame that is whole.
func (r *reader) control(payload []byte) error {
	switch r.opcode() {
	case opClose:
		return r.transport.closed(payload)
	case opPing:
		if !r.transport.closing {
			r.transport.out.control(opPong, payload)
		}
	}
	return nil
}
