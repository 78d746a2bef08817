package rpc

import (
	"bytes"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// Appender appends one JSON value to dst, compact: without a raw line break. An Appender
// writes params and results straight into the message.
type Appender func(dst []byte) ([]byte, error)

// Message is one outgoing message, encoded: a block of facts for the transport
// (see [abi.Facts]) and the JSON-RPC message behind it, in one buffer. A link
// owns it from Send until it calls Free, which it does exactly once, whether
// the message was sent, refused or dropped.
type Message struct {
	Kind   abi.MessageKind
	Method string // empty for replies

	exchange  uint32
	urgent    bool
	solicited bool
	holders   atomic.Int32 // beside the link
	payload   []byte
	start     int
	idBuffer  [20]byte // the digits of the largest uint64
}

// Exchange returns the number of the message, which is never 0 and which no
// other live message of the connection has. A request's number is its id.
func (m *Message) Exchange() uint32 { return m.exchange }

// Payload returns the facts block and, from start on, the message itself,
// which holds no raw CR or LF.
func (m *Message) Payload() (payload []byte, start int) { return m.payload, m.start }

// Body returns the JSON-RPC message.
func (m *Message) Body() []byte { return m.payload[m.start:] }

// Urgent messages are replies and cancellations. They must not wait behind
// requests, because the server may have to see them before it reads on.
func (m *Message) Urgent() bool { return m.urgent }

// Solicited messages are those that the other side asked for: replies, and the
// calls that say so.
func (m *Message) Solicited() bool { return m.solicited }

var messages = sync.Pool{New: func() any { return new(Message) }}

// keepPayload is the largest buffer that waits in the pool for another use.
const keepPayload = 2 << 20

// Hold gives the message a second owner, who calls Free as well.
func (m *Message) Hold() { m.holders.Add(1) }

// Free gives the message back. The caller must not touch it, or anything that
// Payload returned, afterwards.
func (m *Message) Free() {
	if m.holders.Add(-1) >= 0 {
		return
	}
	payload := m.payload[:0]
	if cap(payload) > keepPayload {
		payload = nil
	}
	*m = Message{payload: payload}
	messages.Put(m)
}

// facts returns what a transport is told of every message under these terms.
func (t *Terms) facts(method string) abi.Facts {
	return abi.Facts{Method: method, Version: t.Version, Epoch: t.Epoch}
}

// newRequest encodes a request. On an error nothing is left to free.
func newRequest(id uint64, f *abi.Facts, params Appender) (*Message, error) {
	m := messages.Get().(*Message)
	token := strconv.AppendUint(m.idBuffer[:0], id, 10)
	f.Kind, f.ID = abi.Request, view(token)
	m.begin(uint32(id), f)
	m.payload = append(m.payload, `{"jsonrpc":"2.0","id":`...)
	m.payload = append(m.payload, token...)
	m.payload = append(m.payload, `,"method":`...)
	return m.finish(params)
}

// newNotification encodes a notification. On an error nothing is left to free.
func newNotification(exchange uint32, f *abi.Facts, params Appender) (*Message, error) {
	m := messages.Get().(*Message)
	f.Kind = abi.Notification
	m.begin(exchange, f)
	m.payload = append(m.payload, `{"jsonrpc":"2.0","method":`...)
	return m.finish(params)
}

// newReply encodes the answer to a server's request. A result that cannot be
// encoded becomes an error of ours.
func newReply(exchange uint32, id []byte, f *abi.Facts, result Appender, fault *Error) *Message {
	m := messages.Get().(*Message)
	m.urgent, m.solicited = true, true
	f.Kind, f.ID = abi.Reply, view(id)
	m.begin(exchange, f)
	m.payload = append(m.payload, `{"jsonrpc":"2.0","id":`...)
	m.payload = append(m.payload, id...)
	keep := len(m.payload)
	if fault == nil {
		m.payload = append(m.payload, `,"result":`...)
		if m.value(result) == nil {
			m.payload = append(m.payload, '}')
			return m
		}
		fault = internalError
	}
	m.payload = append(m.payload[:keep], `,"error":{"code":`...)
	m.payload = strconv.AppendInt(m.payload, int64(fault.Code), 10)
	m.payload = append(m.payload, `,"message":`...)
	m.payload = strictjson.AppendString(m.payload, fault.Message)
	if fault.Data != nil {
		if out, err := strictjson.AppendRaw(append(m.payload, `,"data":`...), fault.Data); err == nil {
			m.payload = out
		}
	}
	m.payload = append(m.payload, "}}"...)
	return m
}

// begin starts the buffer with what the transport needs beside the bytes.
func (m *Message) begin(exchange uint32, f *abi.Facts) {
	m.Kind, m.Method, m.exchange = f.Kind, f.Method, exchange
	m.payload = abi.AppendFacts(m.payload[:0], f)
	m.start = len(m.payload)
}

// finish completes a request or notification behind `"method":`.
func (m *Message) finish(params Appender) (*Message, error) {
	m.payload = strictjson.AppendString(m.payload, m.Method)
	if params != nil {
		m.payload = append(m.payload, `,"params":`...)
		if err := m.value(params); err != nil {
			m.Free()
			return nil, err
		}
	}
	m.payload = append(m.payload, '}')
	return m, nil
}

// value appends what an appender writes. A line break in it would be two
// messages to a transport that frames by lines, so it goes no further.
func (m *Message) value(write Appender) error {
	keep := len(m.payload)
	payload, err := write(m.payload)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrParams, err)
	}
	m.payload = payload
	switch written := payload[keep:]; {
	case len(written) == 0:
		return fmt.Errorf("%w: nothing was written", ErrParams)
	case bytes.IndexByte(written, '\n') >= 0 || bytes.IndexByte(written, '\r') >= 0:
		return fmt.Errorf("%w: raw line break in JSON", ErrParams)
	}
	return nil
}

// view returns b as a string that must not outlive it.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
