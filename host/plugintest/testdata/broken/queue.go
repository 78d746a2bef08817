package main

import (
	"bytes"
	"strconv"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// "queue" has two streams: it listens on the first and pushes on the second. A push is
// a line with the length of what follows, which is a line with our name, and a
// message. What is no request is done when the server has said so. With "queue-forgets"
// it never is, and with "queue-hasty" requests are too.

func (b *broken) queue() bool {
	return b.is("queue") || b.is("queue-forgets") || b.is("queue-hasty")
}

// pushes sends a message, which is done, or answered, later.
func (b *broken) pushes(m sdk.Message, request bool) sdk.Outcome {
	const name = "me\n"
	b.push.Write([]byte("PUSH "+strconv.Itoa(len(name)+m.Payload.Len())+"\r\n"+name), abi.More)
	b.push.Forward(m.Payload, abi.More)
	b.push.Write([]byte("\r\n"), abi.More)
	exchange := m.Exchange
	if request && !b.is("queue-hasty") {
		exchange = 0
	}
	b.pushed = append(b.pushed, exchange)
	return sdk.Later
}

// pushesTaken hears that the server has the oldest ones.
func (b *broken) pushesTaken(p []byte) {
	for range bytes.Count(p, []byte("+")) {
		if b.pushed[0] != 0 && !b.is("queue-forgets") {
			b.conn.Done(b.pushed[0])
		}
		b.pushed = b.pushed[1:]
	}
}

// queueHead is head for what comes on the first stream.
func queueHead(p []byte) (head, size, tail int, ok bool) {
	line, _, found := bytes.Cut(p, []byte("\r\n"))
	if !found {
		return 0, 0, 0, false
	}
	n, err := strconv.Atoi(string(line))
	if err != nil {
		n = -1
	}
	return len(line) + 2, n, 2, true
}
