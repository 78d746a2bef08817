// Command pigeon is a transport plugin for Wharf: MCP in lines of JSON over the
// byte stream that the address of a server entry leads to, a unix socket, TCP or
// TLS. README.md says how to build, test and use it, and what to change first.
package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

func init() { sdk.Register(manifest, &transport{}) }

func main() {}

// manifest is what Wharf knows of the plugin before it connects anything. The
// grant has a name and no address: a user gives one to each server, and the
// plugin never learns it.
var manifest = abi.Manifest{
	Name:        "pigeon",
	Version:     "0.1.0",
	Summary:     "MCP in lines of JSON over a byte stream",
	Grants:      []abi.Grant{{Kind: abi.OpenStream, Name: "main"}},
	Cancel:      abi.CancelByMessage, // the server is told of a cancel by a message like any other
	Unsolicited: true,                // the server may speak first: all messages share the one stream
}

// transport is one connection to one server. Its fields are all the state there
// is: Wharf makes an instance of the module for each connection, and the bytes of
// messages stay with the host.
type transport struct {
	stream sdk.Handle
	wire   wire
}

// Open dials, and does not wait for it: OPENED or an error comes to Handle. The
// stream is essential, so the connection ends when the stream does, and the host,
// which knows why, tells the user.
func (t *transport) Open(c *sdk.Conn, _ *abi.Settings) (err error) {
	t.stream, err = c.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main", Flags: abi.Essential})
	return err
}

// Message sends one message. All of it is queued when send returns, and nothing
// more will be said of it, which is what HandedOver means.
func (t *transport) Message(m sdk.Message) (sdk.Outcome, error) {
	if status := t.wire.send(t.stream, m.Payload); status < abi.OK {
		return m.Fail(status, "the server closed the stream")
	}
	return sdk.HandedOver, nil
}

// Handle takes everything else that happens. If a provider signs in to the server,
// OPENED has its bytes, sealed: they can be forwarded and not read. They go first
// into the stream, because messages come only after Up. A kind of event that is not
// named here needs no action.
func (t *transport) Handle(e sdk.Event) error {
	switch e.Kind {
	case abi.EventOpened:
		if e.Sealed() {
			t.stream.Forward(e.Payload, abi.More)
		}
		e.Conn().Up()
	case abi.EventData:
		if t.wire.receive(e.Payload); e.Last() {
			t.wire.end(e.Conn())
		}
	case abi.EventEnd:
		t.wire.end(e.Conn())
	case abi.EventClose:
		t.stream.Close()
		e.Conn().Ended()
	}
	return nil
}
