package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sse"
)

const (
	// subprotocol is the protocol that both sides agree on.
	subprotocol = "mcp"

	// farewell is the timer of a close handshake that we began, and patience the time in
	// milliseconds that the server has for its half. That is less than the time that the
	// host gives a guest after CLOSE.
	farewell = 1
	patience = 1000
)

// transport is one connection. The host makes the handshake: it invents
// Sec-WebSocket-Key and checks Sec-WebSocket-Accept. The auth provider signs in with the
// same request, unseen by this plugin. After a HEAD with 101 the exchange is a byte
// stream, which this transport frames.
type transport struct {
	conn    *sdk.Conn
	socket  sdk.Handle
	up      bool // the handshake is done
	closing bool // our close frame is out, and nothing follows it
	over    bool // both close frames are out, or one of them is enough

	in      reader
	out     writer
	refusal sse.Refusal
	fill    func(key *[4]byte) // fills the key with fresh random bytes of the host
}

// Open asks for the upgrade. The socket is essential: a server that leaves
// without a word ends the connection, and the host says so.
func (t *transport) Open(c *sdk.Conn, _ *abi.Settings) (err error) {
	t.conn = c
	t.socket, err = c.Open(abi.OpenHTTP, 0, &abi.OpenRequest{
		Grant:  "main",
		Method: "GET",
		Flags:  abi.Essential | abi.Upgrade,
		Headers: []abi.Pair{
			{Key: "upgrade", Value: "websocket"},
			{Key: "sec-websocket-version", Value: "13"},
			{Key: "sec-websocket-protocol", Value: subprotocol},
		},
	})
	t.in.transport, t.out.transport = t, t
	return err
}

// Message sends one message, all of it in this event.
func (t *transport) Message(m sdk.Message) (sdk.Outcome, error) {
	if t.closing {
		return m.Fail(abi.Closed, "the WebSocket is closing")
	}
	if s := t.out.text(m.Payload); s < abi.OK {
		return m.Fail(s, "the server closed the WebSocket")
	}
	return sdk.HandedOver, nil
}

// Handle handles the other events. The host itself reports a failure of the socket, since the
// socket is essential.
func (t *transport) Handle(e sdk.Event) error {
	switch e.Kind {
	case abi.EventHead:
		return t.answered(e)
	case abi.EventData, abi.EventEnd:
		return t.data(e)
	case abi.EventTimer:
		t.end()
	case abi.EventClose:
		t.leave()
	}
	return nil
}

// answered handles the server's answer to the upgrade. If the status is not 101, the body
// says why, and the connection ends when the body does.
func (t *transport) answered(e sdk.Event) error {
	head, body, err := e.Head()
	if err != nil {
		return err
	}
	if e.HTTPStatus() != 101 {
		t.refusal.Reset(e.HTTPStatus())
		if t.refusal.Add(body) || e.Last() {
			return t.refused()
		}
		return nil
	}
	switch chosen := string(head.Value("sec-websocket-protocol")); chosen {
	case subprotocol, "": // to choose none is allowed (section 4.1), and some servers do
	default:
		return t.fail(abi.ProtocolFailed, 1002, `the server chose the subprotocol "`+chosen+`", which was not offered; expected "`+subprotocol+`"`)
	}
	t.up = true
	t.conn.Up()
	return nil
}

// data takes the bytes of the stream, or the body of an answer that was no upgrade.
func (t *transport) data(e sdk.Event) error {
	if !t.up {
		if t.refusal.Add(e.Payload) || e.Last() {
			return t.refused()
		}
		return nil
	}
	if err := t.in.data(e.Payload); err != nil {
		return err
	}
	if e.Last() && t.closing {
		t.end()
	}
	return nil
}

// refused returns the error of an upgrade that the server refused.
func (t *transport) refused() error {
	status := abi.ProtocolFailed
	switch t.refusal.Status {
	case 404, 410:
		status = abi.NotFound
	case 401: // a sign-in would help here; with 403 it would not
		status = abi.Unauthorized
	case 403:
		status = abi.Denied
	case 429, 502, 503, 504:
		status = abi.Unavailable
	}
	return sdk.Fail(status, "no WebSocket here: expected HTTP 101, got "+t.refusal.String())
}

// leave begins the close handshake after the host's CLOSE.
func (t *transport) leave() {
	if !t.up {
		t.end()
		return
	}
	t.bye(1000)
	t.conn.Timer(farewell, patience)
}

// bye sends a close frame, once; nothing may follow it (section 5.5.1).
func (t *transport) bye(code uint16) {
	if !t.closing {
		t.out.close(code)
		t.closing = true
	}
}

// end handles the end of a connection that we closed.
func (t *transport) end() {
	if t.over {
		return
	}
	t.over = true
	t.conn.Timer(farewell, 0)
	t.socket.Close()
	t.conn.Ended()
}

// fail ends a connection that cannot go on. The server gets the code, and the user
// the text.
func (t *transport) fail(s abi.Status, code uint16, text string) error {
	t.bye(code)
	return sdk.Fail(s, text)
}
