package main

import (
	"bytes"
	"encoding/binary"
	"strconv"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// Framings that the kit does not know: "length32" is one that it can learn, and
// "numbered" one that it cannot, with a greeting and numbers that go on. "publishes" is
// like MQTT: a type, a length in groups of seven bits, and a topic that is another one
// each way; "publishes-short" takes one group alone.

func (b *broken) ownFraming() bool {
	return b.is("length32") || b.publishes() || b.greeted() || b.queue()
}

// greeted reports whether the connection is up only when the server has welcomed us.
func (b *broken) greeted() bool { return b.is("numbered") || b.framed() }

func (b *broken) publishes() bool { return b.is("publishes") || b.is("publishes-short") }

const topicOut, topicIn = "\x00\x03out", "\x00\x02in"

func (b *broken) frame(m sdk.Message) {
	if b.is("length32") {
		b.stream.Write(binary.BigEndian.AppendUint32(nil, uint32(m.Payload.Len())), abi.More)
		b.stream.Forward(m.Payload, abi.More)
		return
	}
	if b.publishes() {
		head := binary.AppendUvarint([]byte{0x30}, uint64(len(topicOut)+m.Payload.Len()))
		b.stream.Write(append(head, topicOut...), abi.More)
		b.stream.Forward(m.Payload, abi.More)
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

// unframe takes complete frames off the bytes that have come.
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
			b.conn.Deliver(0, rest[head:head+size], abi.End)
		}
		rest = rest[head+max(size, 0)+tail:]
	}
}

// head returns the lengths of the next frame: of its head, its message and its tail. size is
// below zero if the frame holds no message.
func (b *broken) head(p []byte) (head, size, tail int, ok bool) {
	if b.is("length32") {
		if len(p) < 4 {
			return 0, 0, 0, false
		}
		return 4, int(binary.BigEndian.Uint32(p)), 0, true
	}
	if b.publishes() {
		if len(p) < 2 {
			return 0, 0, 0, false
		}
		all, n := binary.Uvarint(p[1:])
		if b.is("publishes-short") {
			all, n = uint64(p[1]&0x7f), 1
		}
		head = 1 + n + len(topicIn)
		return head, int(all) - len(topicIn), 0, n > 0
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
