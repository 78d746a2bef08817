package main

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// Framings that the kit does not know: "length32" is one that it can learn, and
// "numbered" one that it cannot, with a greeting and numbers that go on.

func (b *broken) ownFraming() bool { return b.is("length32") || b.is("numbered") }

func (b *broken) frame(m sdk.Message) {
	if b.is("length32") {
		b.stream.Write(binary.BigEndian.AppendUint32(nil, uint32(m.Payload.Len())), abi.More)
		b.stream.Forward(m.Payload, abi.More)
		return
	}
	b.number++
	b.stream.Write([]byte("MSG "+strconv.Itoa(b.number)+" "+strconv.Itoa(m.Payload.Len())+"\n"), abi.More)
	b.stream.Forward(m.Payload, abi.More)
	b.stream.Write([]byte{'\n'}, abi.More)
}

// unframe takes what is whole off what has come.
func (b *broken) unframe(p []byte) error {
	b.line = append(b.line, p...)
	for {
		head, size, tail, ok := b.head()
		if !ok || len(b.line) < head+size+tail {
			return nil
		}
		if size >= 0 {
			b.conn.Deliver(0, b.line[head:head+size], abi.End)
		}
		b.line = append(b.line[:0], b.line[head+max(size, 0)+tail:]...)
	}
}

// head reads how long the next frame is. What is no message has a size below zero.
func (b *broken) head() (head, size, tail int, ok bool) {
	if b.is("length32") {
		if len(b.line) < 4 {
			return 0, 0, 0, false
		}
		return 4, int(binary.BigEndian.Uint32(b.line)), 0, true
	}
	line, _, found := bytes.Cut(b.line, []byte("\n"))
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
