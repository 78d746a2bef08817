// Command transport-socket is a transport plugin that Wharf does not ship: MCP
// in lines of JSON over a byte stream, a unix socket or TCP. It is here to be
// copied; README.md says how to build and use it.
package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/framing"
)

func init() { sdk.Register(manifest, &socket{}) }

func main() {}

// manifest is what Wharf knows of the plugin before it connects anything. The
// grant has a name and no address: a user gives one to each server, and the
// plugin never learns it.
var manifest = abi.Manifest{
	Name:        "socket",
	Version:     "1.0.0",
	Summary:     "MCP in lines of JSON over a unix socket or TCP",
	Grants:      []abi.Grant{{Kind: abi.OpenStream, Name: "main"}},
	Cancel:      abi.CancelByMessage,
	Unsolicited: true,
}

// socket is one connection to one server. Its fields are all the state there
// is: message bytes stay with the host.
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

// Message writes one message. All of it is on its way when Send returns, which
// is what HandedOver says.
func (s *socket) Message(m sdk.Message) (sdk.Outcome, error) {
	if status := s.lines.Send(s.stream, m.Payload); status < abi.OK {
		return m.Fail(status, "the server closed the socket")
	}
	return sdk.HandedOver, nil
}

// Handle reads. Where the server entry has a provider sign in, what it gives is
// the first thing in the stream, as it is, since messages come only after Up.
// Every kind of event that is not named here needs nothing done.
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
