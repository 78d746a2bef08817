package main

import (
	"encoding/binary"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// "framed" says a hello, "FRMD" 1 and a token behind its length, and is up when the
// server has said "OK" 1. Then frames go both ways: a length of four bytes, a type of
// one (0 message, 1 ping, 2 pong), and so many bytes. In "framed-typed" the length
// counts the type; "framed-mute" answers no pings; "framed-window" sends a message
// when the one before was taken, which a type of 3 says.

const (
	typeMessage = iota
	typePing
	typePong
	typeTaken
)

func (b *broken) framed() bool {
	return b.is("framed") || b.is("framed-typed") || b.is("framed-mute") || b.is("framed-window")
}

// says greets the server, with what an auth provider has given.
func (b *broken) says(e sdk.Event) {
	n := 0
	if e.Sealed() {
		n = e.Payload.Len()
	}
	b.stream.Write(binary.BigEndian.AppendUint16([]byte("FRMD\x01"), uint16(n)), abi.More)
	if n > 0 {
		b.stream.Forward(e.Payload, abi.More)
	}
}

// frameHead writes what stands before n bytes.
func (b *broken) frameHead(kind byte, n int) {
	if b.is("framed-typed") {
		n++
	}
	b.stream.Write(append(binary.BigEndian.AppendUint32(nil, uint32(n)), kind), abi.More)
}

// framedHead is head for frames behind a hello.
func (b *broken) framedHead(p []byte) (head, size, tail int, ok bool) {
	if !b.welcome {
		if len(p) < 3 {
			return 0, 0, 0, false
		}
		b.welcome = true
		b.conn.Up()
		return 3, -1, 0, true
	}
	if len(p) < 5 {
		return 0, 0, 0, false
	}
	n := int(binary.BigEndian.Uint32(p))
	if b.is("framed-typed") {
		n--
	}
	switch {
	case p[4] == typeMessage:
		return 5, n, 0, true
	case len(p) < 5+n:
		return 0, 0, 0, false
	case p[4] == typePing && !b.is("framed-mute"):
		b.frameHead(typePong, n)
		b.stream.Write(p[5:5+n], abi.More)
	}
	b.untaken = b.untaken && p[4] != typeTaken
	return 5 + n, -1, 0, true
}
