package main

import (
	"strconv"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
	"github.com/wharf-mcp/wharf/sdk/framing"
)

// transport speaks to one ssh client. Its end is the end of the connection, as with any server
// that is a process. This transport adds whether ssh failed, or the server behind it.
type transport struct {
	client sdk.Handle
	framer framing.Framer
	spoken bool // the server behind ssh has said something
	left   bool // CLOSE has come, and how ssh ends is no longer of interest
}

func (t *transport) Open(c *sdk.Conn, s *abi.Settings) (err error) {
	name := s.Value("framing")
	if t.framer = framing.Named(name); t.framer == nil {
		return sdk.Fail(abi.Malformed, `framing = "`+name+`" is unknown: use "ndjson", "content-length" or "auto"`)
	}
	t.client, err = c.Open(abi.OpenProcess, 0, &abi.OpenRequest{Grant: "main", Flags: abi.Essential})
	return err
}

// Message writes to ssh, which keeps what it reads until it has signed in.
func (t *transport) Message(m sdk.Message) (sdk.Outcome, error) {
	if s := t.framer.Send(t.client, m.Payload); s < abi.OK {
		return m.Fail(s, "ssh takes no more messages")
	}
	return sdk.HandedOver, nil
}

func (t *transport) Handle(e sdk.Event) error {
	switch e.Kind {
	case abi.EventOpened:
		e.Conn().Up()
	case abi.EventData, abi.EventEnd:
		t.spoken = t.spoken || e.Len() > 0
		if t.framer.Data(e.Payload); e.Last() {
			t.framer.End(e.Conn())
		}
	case abi.EventExit:
		return t.exited(e)
	case abi.EventClose:
		t.left = true
		t.client.Close()
		e.Conn().Ended()
	}
	return nil
}

// sshFailed is the exit code of ssh for its own failures. Any other exit code comes from the
// program behind ssh.
const sshFailed = 255

// exited reports whether ssh itself failed, or the server behind it. It reports nothing if ssh
// was killed or the server left in good order, since the host knows all about that.
func (t *transport) exited(e sdk.Event) error {
	code := e.ExitCode()
	switch {
	case t.left || code <= 0:
		return nil
	case code != sshFailed:
		return sdk.Fail(abi.Reset, "the server behind ssh ended with exit code "+strconv.Itoa(code)+hintOf(code))
	case t.spoken:
		return sdk.Fail(abi.Reset, "the connection of ssh was lost (or the server ended with exit code 255)")
	}
	return explain(string(e.Bytes()))
}

// hintOf explains the exit codes by which a shell says that it started nothing.
func hintOf(code int) string {
	switch code {
	case 126:
		return ": its program may not be run there"
	case 127:
		return ": its program was not found there"
	}
	return ""
}
