package rpc

import (
	"context"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"github.com/wharf-mcp/wharf/abi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a link whose server answers every request within Send.
type echo struct {
	peer    *Peer
	private bool // answer over the request's exchange
	answer  []byte
	buffer  []byte // to answer from; nil = a new one each time
}

func (l *echo) Send(_ context.Context, m *Message) error {
	if m.Kind == abi.Request {
		buffer := l.buffer
		if buffer == nil {
			buffer = make([]byte, 0, 256)
		}
		msg := append(buffer, `{"jsonrpc":"2.0","id":`...)
		msg = strconv.AppendUint(msg, uint64(m.Exchange()), 10)
		msg = append(msg, `,"result":`...)
		msg = append(msg, l.answer...)
		msg = append(msg, '}')
		exchange := uint32(0)
		if l.private {
			exchange = m.Exchange()
		}
		l.peer.Deliver(exchange, msg, false)
	}
	m.Free()
	return nil
}

func (l *echo) Cancel(uint32) bool { return false }

const smallResult = `{"content":[{"type":"text","text":"hello hello hello hello"}]}`

func newEcho(c Config) (*Peer, *echo) {
	l := &echo{answer: []byte(smallResult)}
	c.Link = l
	l.peer = NewPeer(c)
	return l.peer, l
}
