package main

import (
	"errors"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sse"
)

// transport speaks to one server. The stream is essential: its end is the end of the connection,
// and the host connects again. This transport cannot resume, so it ignores the server's retry
// and ids.
type transport struct {
	cap      int // bytes of a message
	stream   sdk.Handle
	events   sse.Reader
	endpoint string // where messages are posted; empty until the server said
	posts    posts
	open     abi.OpenRequest
}

// endpointCap bounds an address.
const endpointCap = 2 << 10

var (
	accept  = []abi.Pair{{Key: "accept", Value: "text/event-stream"}}
	content = []abi.Pair{{Key: "content-type", Value: "application/json"}}
)

func (t *transport) Open(c *sdk.Conn, s *abi.Settings) (err error) {
	if t.cap = int(s.MessageCap); t.cap == 0 {
		t.cap = math.MaxInt32
	}
	t.events.Keep = endpointCap
	t.stream, err = c.Open(abi.OpenHTTP, 0, &abi.OpenRequest{
		Grant: "main", Flags: abi.Essential, Method: "GET", Headers: accept,
	})
	if err == nil {
		t.stream.Write(nil, abi.End)
	}
	return err
}

// Message posts a message to the endpoint. The host decides whether the endpoint may be reached;
// nothing is sent before.
func (t *transport) Message(m sdk.Message) (sdk.Outcome, error) {
	f, err := m.Facts()
	if err != nil {
		return sdk.Later, err
	}
	t.open = abi.OpenRequest{Grant: "main", Method: "POST", Target: t.endpoint, Headers: content}
	h, err := m.Conn().Open(abi.OpenHTTP, m.Exchange, &t.open)
	if err != nil {
		status := abi.Internal
		if fault := (*sdk.Fault)(nil); errors.As(err, &fault) {
			status = fault.Status
		}
		return m.Fail(status, err.Error())
	}
	t.posts.begin(h, m.Exchange, f.Kind() == abi.Request)
	h.Forward(m.Payload, abi.End)
	return sdk.Later, nil
}

func (t *transport) Handle(e sdk.Event) error {
	switch e.Kind {
	case abi.EventHead, abi.EventData, abi.EventEnd, abi.EventError:
		if e.Handle == t.stream {
			return t.listen(e)
		}
		return t.posts.response(e)
	case abi.EventCancel:
		t.posts.cancel(e.Arg)
	case abi.EventClose:
		t.stream.Close()
		e.Conn().Ended()
	}
	return nil
}

// listen handles one event of the stream. It ignores the end and the failure of the stream,
// which the host sees by itself.
func (t *transport) listen(e sdk.Event) error {
	switch e.Kind {
	case abi.EventHead:
		head, body, err := e.Head()
		if err != nil {
			return err
		}
		if err := expectEvents(e.HTTPStatus(), head, body); err != nil {
			return err
		}
		return t.hear(body)
	case abi.EventData:
		return t.hear(e.Payload)
	}
	return nil
}

// expectEvents returns an error for a response that is no event stream.
func expectEvents(status int, head *abi.HeadReader, body sdk.Payload) error {
	no := sse.Refusal{Status: status}
	if status != 200 {
		no.Add(body)
		return sdk.Fail(abi.Refused, no.String())
	}
	media, _, _ := strings.Cut(string(head.Value("content-type")), ";")
	switch media = strings.TrimSpace(media); {
	case strings.EqualFold(media, "text/event-stream"):
		return nil
	case media == "":
		media = "no content-type"
	}
	return sdk.Fail(abi.ProtocolFailed, no.String()+": expected text/event-stream, got "+media)
}

// hear delivers the messages in p and follows the server to its endpoint. An event that
// never ends must end the connection, since no other stream would bring the messages after
// it.
func (t *transport) hear(p sdk.Payload) error {
	for p.Len() > 0 {
		var ok bool
		if p, ok = t.events.Next(p); ok && t.events.Named("endpoint") {
			if err := t.follow(p.Conn()); err != nil {
				return err
			}
		}
	}
	if t.events.Size() > t.cap {
		return sdk.Fail(abi.TooLarge, "an event of the stream is longer than a message may be")
	}
	return nil
}

// follow takes the endpoint from the server's event.
func (t *transport) follow(c *sdk.Conn) error {
	address, whole := t.events.Kept()
	if !whole || len(address) == 0 || !utf8.Valid(address) {
		return sdk.Fail(abi.ProtocolFailed, "expected an address of up to 2 KiB in the endpoint event")
	}
	first := t.endpoint == ""
	if t.endpoint = string(address); first {
		c.Up()
	}
	return nil
}
