package main

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// Framings that the kit does not know: "length32" is one that it can learn, and
// "numbered" one that it cannot, with a greeting and numbers that go on. "pieces" is
// like that, with messages in pieces; "pieces-apart" takes each for a message.

func (b *broken) ownFraming() bool { return b.is("length32") || b.greeted() || b.queue() }

// greeted reports whether the connection is up only when the server has welcomed us.
func (b *broken) greeted() bool { return b.is("numbered") || b.inPieces() || b.framed() }

func (b *broken) inPieces() bool { return b.is("pieces") || b.is("pieces-apart") }

func (b *broken) frame(m sdk.Message) {
	if b.is("length32") {
		b.stream.Write(binary.BigEndian.AppendUint32(nil, uint32(m.Payload.Len())), abi.More)
		b.stream.Forward(m.Payload, abi.More)
		return
	}
	if b.inPieces() {
		b.pieces(m.Payload)
		return
	}
	if b.framed() {
		b.frameHead(typeMessage, m.Payload.Len())
		b.stream.Forward(m.Payload, abi.More)
		return
	}
	b.number++
	b.stream.Write([]byte("MSG "+strconv.Itoa(b.number)+" "+strconv.Itoa(m.Payload.Len())+"\n"), abi.More)
	b.stream.Forward(m.Payload, abi.More)
	b.stream.Write([]byte{'\n'}, abi.More)
}

// pieces writes a message as pieces of up to a thousand bytes.
func (b *broken) pieces(p sdk.Payload) {
	const most = 1000
	for more := true; more; {
		n, mark := p.Len(), "."
		if more = n > most; more {
			n, mark = most, "+"
		}
		b.number++
		b.stream.Write([]byte("MSG "+strconv.Itoa(b.number)+" "+mark+" "+strconv.Itoa(n)+"\n"), abi.More)
		b.stream.Forward(p.Slice(0, n), abi.More)
		b.stream.Write([]byte{'\n'}, abi.More)
		p = p.From(n)
	}
}

// unframe takes what is whole off what has come.
func (b *broken) unframe(p []byte) error {
	b.line = append(b.line, p...)
	rest := b.line
	for {
		head, size, tail, ok := b.head(rest)
		if !ok || len(rest) < head+size+tail {
			b.line = append(b.line[:0], rest...)
			return nil
		}
		if size >= 0 {
			flags := uint32(abi.End)
			if b.is("pieces") && bytes.Contains(rest[:head], []byte(" + ")) {
				flags = abi.More
			}
			b.conn.Deliver(0, rest[head:head+size], flags)
		}
		rest = rest[head+max(size, 0)+tail:]
	}
}

// head reads how long the next frame is. What is no message has a size below zero.
func (b *broken) head(p []byte) (head, size, tail int, ok bool) {
	if b.is("length32") {
		if len(p) < 4 {
			return 0, 0, 0, false
		}
		return 4, int(binary.BigEndian.Uint32(p)), 0, true
	}
	if b.framed() {
		return b.framedHead(p)
	}
	if b.queue() {
		return queueHead(p)
	}
	line, _, found := bytes.Cut(p, []byte("\n"))
	if !found {
		return 0, 0, 0, false
	}
	switch {
	case bytes.HasPrefix(line, []byte("HELLO ")):
		b.stream.Write([]byte("HI guest\n"), abi.More)
	case bytes.Equal(line, []byte("WELCOME guest")):
		b.conn.Up()
	case bytes.HasPrefix(line, []byte("MSG ")):
		words := bytes.Fields(line)
		if n, err := strconv.Atoi(string(words[len(words)-1])); err == nil && n >= 0 {
			return len(line) + 1, n, 1, true
		}
	}
	return len(line) + 1, -1, 0, true
}
