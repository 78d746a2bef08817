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

// Appender appends one compact JSON value, without a raw line break, to dst. It writes params and
// results straight into the message.
type Appender func(dst []byte) ([]byte, error)

// Raw returns the appender of one JSON value that was written elsewhere and is valid. It appends text
// byte for byte, or without its white space if a line break is in it.
func Raw(text []byte) Appender {
	return func(dst []byte) ([]byte, error) {
		if bytes.IndexByte(text, '\n') < 0 && bytes.IndexByte(text, '\r') < 0 {
			return append(dst, text...), nil
		}
		return strictjson.AppendRaw(dst, text)
	}
}

// Message is one encoded outgoing message. One buffer holds a block of facts for the transport (see
// [abi.Facts]) and the JSON-RPC message behind it. A link owns the Message from Send until it calls
// Free. It calls Free exactly once, whether the message was sent, refused or dropped.
type Message struct {
	Kind   abi.MessageKind
	Method string // empty for replies

	exchange  uint32
	about     uint32
	urgent    bool
	solicited bool
	placed    func()       // see [Call.Placed]; nil for most
	holders   atomic.Int32 // owners beside the link
	payload   []byte
	start     int
	idBuffer  [20]byte // room for the digits of the largest uint64
}

// Exchange returns the number of the message. It is never 0, and no other live message of the
// connection has it. The number of a request is the low 32 bits of its id.
func (m *Message) Exchange() uint32 { return m.exchange }

// About returns the exchange of the client's request that the message answers or belongs to; 0 if
// that came on the shared channel, or there is none.
func (m *Message) About() uint32 { return m.about }

// Payload returns the facts block and, from index start on, the JSON-RPC message, which holds no
// raw CR or LF.
func (m *Message) Payload() (payload []byte, start int) { return m.payload, m.start }

// Body returns the JSON-RPC message.
func (m *Message) Body() []byte { return m.payload[m.start:] }

// Urgent reports whether the message is a reply or a cancellation for a server. Such a message must
// not wait behind requests, because the server may have to see it before it reads on. A reply to a
// request that asked for progress is not urgent, so it comes after the progress. No message for a
// client is urgent, see [Config.Serving].
func (m *Message) Urgent() bool { return m.urgent }

// Solicited reports whether the other side asked for the message: it is a reply, or a call with
// [Call.Solicited].
func (m *Message) Solicited() bool { return m.solicited }

// Placed says that the link has decided the place of the message among those to the other side. The
// link calls it once, before the message leaves.
func (m *Message) Placed() {
	if m.placed != nil {
		m.placed()
	}
}

var messages = sync.Pool{New: func() any { return new(Message) }}

// keepPayload is the largest buffer, in bytes, that the pool keeps for another message.
const keepPayload = 2 << 20

// Hold adds an owner, who must call Free as well.
func (m *Message) Hold() { m.holders.Add(1) }

// Free gives up the caller's ownership. Afterwards the caller must not touch the message, or a
// slice that Payload returned.
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

// facts writes to f what a transport is told of a message of that method under these terms.
func (t *Terms) facts(f *abi.Facts, method string) {
	f.Method, f.Version, f.Epoch = method, t.Version, t.Epoch
}

// newRequest encodes a request. After an error there is nothing to free.
func newRequest(id uint64, f *abi.Facts, params Appender) (*Message, error) {
	m := messages.Get().(*Message)
	token := strconv.AppendUint(m.idBuffer[:0], id, 10)
	f.Kind, f.ID = abi.Request, view(token)
	m.begin(uint32(id), f)
	m.payload = append(m.payload, `{"jsonrpc":"2.0","id":`...)
	m.payload = append(m.payload, token...)
	m.payload = append(m.payload, `,"method":`...)
	return m.finish(appendMessage(m.payload, f.Method, params))
}

// newNotification encodes a notification. After an error there is nothing to free.
func newNotification(exchange uint32, f *abi.Facts, params Appender) (*Message, error) {
	m := messages.Get().(*Message)
	f.Kind = abi.Notification
	m.begin(exchange, f)
	return m.finish(AppendNotification(m.payload, f.Method, params))
}

// newReply encodes the answer to a server's request. If the result cannot be encoded, it encodes an
// error instead.
func newReply(exchange uint32, id []byte, f *abi.Facts, result Appender, fault *Error) *Message {
	m := messages.Get().(*Message)
	m.solicited = true
	f.Kind, f.ID = abi.Reply, view(id)
	m.begin(exchange, f)
	m.payload = AppendReply(m.payload, id, result, fault)
	return m
}

// AppendReply appends the answer to a request. A nil id is null. If the result cannot be encoded, it
// is an error instead.
func AppendReply(dst, id []byte, result Appender, fault *Error) []byte {
	if id == nil {
		id = nullID
	}
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	if fault == nil {
		if out, err := appendValue(append(dst, `,"result":`...), result); err == nil {
			return append(out, '}')
		}
		fault = internalError
	}
	if fault.Raw != nil && strictjson.Valid(fault.Raw, strictjson.DefaultDepth) == nil {
		if out, err := appendValue(append(dst, `,"error":`...), Raw(fault.Raw)); err == nil {
			return append(out, '}')
		}
	}
	dst = strconv.AppendInt(append(dst, `,"error":{"code":`...), int64(fault.Code), 10)
	dst = strictjson.AppendString(append(dst, `,"message":`...), fault.Message)
	if fault.Data != nil {
		if out, err := strictjson.AppendRaw(append(dst, `,"data":`...), fault.Data); err == nil {
			dst = out
		}
	}
	return append(dst, "}}"...)
}

// AppendNotification appends a notification. nil writes no params.
func AppendNotification(dst []byte, method string, params Appender) ([]byte, error) {
	return appendMessage(append(dst, `{"jsonrpc":"2.0","method":`...), method, params)
}

// appendMessage completes a request or notification from `"method":` on.
func appendMessage(dst []byte, method string, params Appender) ([]byte, error) {
	dst = strictjson.AppendString(dst, method)
	if params != nil {
		var err error
		if dst, err = appendValue(append(dst, `,"params":`...), params); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// begin starts the buffer with the facts block for the transport.
func (m *Message) begin(exchange uint32, f *abi.Facts) {
	m.Kind, m.Method, m.exchange = f.Kind, f.Method, exchange
	m.payload = abi.AppendFacts(m.payload[:0], f)
	m.start = len(m.payload)
}

// finish takes the payload, unless it could not be encoded.
func (m *Message) finish(payload []byte, err error) (*Message, error) {
	if err != nil {
		m.Free()
		return nil, err
	}
	m.payload = payload
	return m, nil
}

// appendValue appends what an appender writes. It refuses a line break, at which a transport that
// frames by lines would split the message in two.
func appendValue(dst []byte, write Appender) ([]byte, error) {
	out, err := write(dst)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrParams, err)
	}
	switch written := out[len(dst):]; {
	case len(written) == 0:
		return nil, fmt.Errorf("%w: nothing was written", ErrParams)
	case bytes.IndexByte(written, '\n') >= 0 || bytes.IndexByte(written, '\r') >= 0:
		return nil, fmt.Errorf("%w: raw line break in JSON", ErrParams)
	}
	return out, nil
}

// view returns b as a string that shares its memory. It must not outlive b.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
