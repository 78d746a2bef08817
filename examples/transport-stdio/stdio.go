package main

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/framing"
)

const (
	over  = 1    // the timer that runs when the server has closed its stdout
	grace = 2000 // ms that the process then has to end
)

// transport speaks to one child process. The process is essential: its end is the end
// of the connection. It needs no report, because the host knows the exit code and the
// last lines of stderr.
type transport struct {
	process sdk.Handle
	framer  framing.Framer
}

func (t *transport) Open(c *sdk.Conn, s *abi.Settings) (err error) {
	name := s.Value("framing")
	if t.framer = framing.Named(name); t.framer == nil {
		return sdk.Fail(abi.Malformed, `framing = "`+name+`" is unknown: use "ndjson", "content-length" or "auto"`)
	}
	t.process, err = c.Open(abi.OpenProcess, 0, &abi.OpenRequest{Grant: "main", Flags: abi.Essential})
	return err
}

func (t *transport) Message(m sdk.Message) (sdk.Outcome, error) {
	if s := t.framer.Send(t.process, m.Payload); s < abi.OK {
		return m.Fail(s, "the server no longer reads its stdin")
	}
	return sdk.HandedOver, nil
}

func (t *transport) Handle(e sdk.Event) error {
	switch e.Kind {
	case abi.EventOpened:
		e.Conn().Up()
	case abi.EventData, abi.EventEnd:
		if t.framer.Data(e.Payload); e.Last() {
			t.end(e.Conn())
		}
	case abi.EventTimer:
		e.Conn().Failed(0, abi.Closed, "the server closed its stdout")
	case abi.EventClose:
		t.process.Close()
		e.Conn().Ended()
	}
	return nil
}

// end handles the end of stdout. As a rule the process ends right after it, which tells more.
// A server that lives on cannot answer any more.
func (t *transport) end(c *sdk.Conn) {
	t.framer.End(c)
	c.Timer(over, grace)
}
