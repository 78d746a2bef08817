package main

import (
	"encoding/binary"
	"strings"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// "framed" says hello with "FRMD", a byte 1, the length of a token and the token. It is up
// when the server has said "OK" and a byte 1. Then both sides send frames: a length in four
// bytes, a type in one (0 message, 1 ping, 2 pong, 3 taken), and as many bytes as the length
// says. In "framed-typed" the length counts the type. "framed-mute" answers no pings.
// "framed-window" sends a message only when the server has taken the one before. "framed-16"
// and "framed-8" have lengths of 16 and 8 bits that count the type, and fail a message that
// is too long for them. "framed-16-short" also fails one that is not.

const (
	typeMessage = iota
	typePing
	typePong
	typeTaken
)

func (b *broken) framed() bool { return strings.HasPrefix(b.fault, "framed") }

// width is how many bytes a length has.
func (b *broken) width() int {
	switch {
	case b.is("framed-8"):
		return 1
	case strings.HasPrefix(b.fault, "framed-16"):
		return 2
	}
	return 4
}

// fits reports whether a frame has room for a message.
func (b *broken) fits(m sdk.Message) bool {
	most := uint64(1)<<(8*b.width()) - 2
	if b.is("framed-16-short") {
		most--
	}
	return !b.framed() || uint64(m.Payload.Len()) <= most
}

// typed reports whether the length counts the type.
func (b *broken) typed() bool { return b.is("framed-typed") || b.width() < 4 }

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
	if b.typed() {
		n++
	}
	length := binary.BigEndian.AppendUint32(nil, uint32(n))
	b.stream.Write(append(length[4-b.width():], kind), abi.More)
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
	length := b.width()
	if head = length + 1; len(p) < head {
		return 0, 0, 0, false
	}
	n := int(binary.BigEndian.Uint32(append(make([]byte, 4-length, 4), p[:length]...)))
	if b.typed() {
		n--
	}
	switch kind := p[length]; {
	case kind == typeMessage:
		return head, n, 0, true
	case len(p) < head+n:
		return 0, 0, 0, false
	case kind == typePing && !b.is("framed-mute"):
		b.frameHead(typePong, n)
		b.stream.Write(p[head:head+n], abi.More)
	}
	b.untaken = b.untaken && p[length] != typeTaken
	return head + n, -1, 0, true
}
