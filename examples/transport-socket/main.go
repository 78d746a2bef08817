// Command transport-socket is a transport plugin that Wharf does not ship: MCP
// in lines of JSON over a byte stream, a unix socket or TCP. Copy it for
// a transport of your own; README.md says how to build and use it.
package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/framing"
)

func init() { sdk.Register(manifest, &socket{}) }

func main() {}

// manifest tells Wharf about the plugin before the first connection. The grant has a
// name and no address: the user writes the address into each server's entry, and the
// plugin never learns it.
var manifest = abi.Manifest{
	Name:        "socket",
	Version:     "1.0.0",
	Summary:     "MCP in lines of JSON over a unix socket or TCP",
	Grants:      []abi.Grant{{Kind: abi.OpenStream, Name: "main"}},
	Cancel:      abi.CancelByMessage,
	Unsolicited: true,
}

// socket is one connection to one server. It has no other state than its fields:
// message bytes stay with the host.
type socket struct {
	stream sdk.Handle
	lines  framing.Lines
}

// Open dials. The stream is essential, so the connection ends when it does,
// and there is nothing to report about a server that hangs up.
func (s *socket) Open(c *sdk.Conn, _ *abi.Settings) (err error) {
	s.stream, err = c.Open(abi.OpenStream, 0, &abi.OpenRequest{Grant: "main", Flags: abi.Essential})
	return err
}

// Message writes one message. HandedOver says that all of it is on its way when Send
// returns.
func (s *socket) Message(m sdk.Message) (sdk.Outcome, error) {
	if status := s.lines.Send(s.stream, m.Payload); status < abi.OK {
		return m.Fail(status, "the server closed the socket")
	}
	return sdk.HandedOver, nil
}

// Handle handles the other events. If a provider signs in to the server, its bytes go first
// into the stream, unchanged: messages come only after Up. Any kind of event that is not
// named here needs no action.
func (s *socket) Handle(e sdk.Event) error {
	switch e.Kind {
	case abi.EventOpened:
		if e.Sealed() {
			s.stream.Forward(e.Payload, abi.More)
		}
		e.Conn().Up()
	case abi.EventData:
		if s.lines.Data(e.Payload); e.Last() {
			s.lines.End(e.Conn())
		}
	case abi.EventEnd:
		s.lines.End(e.Conn())
	case abi.EventClose:
		s.stream.Close()
		e.Conn().Ended()
	}
	return nil
}
