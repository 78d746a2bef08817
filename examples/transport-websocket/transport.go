package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/sse"
)

const (
	// subprotocol is what both sides agree to speak.
	subprotocol = "mcp"

	// farewell is the timer of a close handshake that we began, and patience how
	// many milliseconds the server has for its half. It is less than what the
	// host gives a guest that is told to end.
	farewell = 1
	patience = 1000
)

// transport is one connection. The host makes the handshake: it invents
// Sec-WebSocket-Key and checks Sec-WebSocket-Accept, and the auth provider does
// so in the same request, unseen from here. From HEAD with 101 on the exchange is
// a byte stream, and this is the framing of it.
type transport struct {
	conn    *sdk.Conn
	socket  sdk.Handle
	up      bool // the handshake is done
	closing bool // our close frame is out, and nothing follows it
	over    bool // both are, or one of them is enough

	in      reader
	out     writer
	refusal sse.Refusal
	fill    func(key *[4]byte) // with fresh randomness of the host
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

// Handle takes the other events; the host tells what fails the socket itself, since the
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

// answered hears what the server says to the upgrade. With another status than 101
// the body says why, and the connection ends with the body.
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

// data takes the bytes of the stream, or those of an answer that was no upgrade.
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

// refused is the error of an upgrade that was answered otherwise.
func (t *transport) refused() error {
	status := abi.ProtocolFailed
	switch t.refusal.Status {
	case 404, 410:
		status = abi.NotFound
	case 401: // who calls may come in when they have signed in; with 403 not even then
		status = abi.Unauthorized
	case 403:
		status = abi.Denied
	case 429, 502, 503, 504:
		status = abi.Unavailable
	}
	return sdk.Fail(status, "no WebSocket here: expected HTTP 101, got "+t.refusal.String())
}

// leave begins the close handshake that the host wishes for.
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

// end is the end of a connection that we closed.
func (t *transport) end() {
	if t.over {
		return
	}
	t.over = true
	t.conn.Timer(farewell, 0)
	t.socket.Close()
	t.conn.Ended()
}

// fail ends a connection that cannot go on. The server is told the code, the user
// the text.
func (t *transport) fail(s abi.Status, code uint16, text string) error {
	t.bye(code)
	return sdk.Fail(s, text)
}
