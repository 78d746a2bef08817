package sdk

import (
	"errors"

	"github.com/wharf-mcp/wharf/abi"
)

// Guest runs a transport for one host. In a sandbox it exists behind the exports; natively a
// test makes one. It is not safe for concurrent use, but any number of guests may run side by
// side.
type Guest struct {
	manifest  abi.Manifest
	transport Transport
	conn      Conn
}

// Event does the work of the export wharf_event: it handles one event and returns the result.
// For a kind that this version does not know it returns 0, as the ABI demands.
func (g *Guest) Event(kind abi.Kind, handle, arg, size uint32) int32 {
	c := &g.conn
	switch kind {
	case abi.EventData: // first, for it is by far the most frequent
		return c.end(g.transport.Handle(c.event(kind, handle, arg, size)))
	case abi.EventMessage:
		outcome, err := g.transport.Message(c.message(handle, arg, size))
		if err != nil {
			return c.end(err)
		}
		return int32(outcome)
	case abi.EventDescribe:
		c.buf = abi.AppendManifest(c.buf[:0], &g.manifest)
		return int32(c.report(abi.ReportManifest, 0, abi.OK, c.buf))
	case abi.EventOpen:
		return c.end(g.open(c.event(kind, handle, arg, size)))
	case abi.EventCancel, abi.EventOpened, abi.EventHead, abi.EventEnd, abi.EventError,
		abi.EventExit, abi.EventTimer, abi.EventResume, abi.EventClose:
		return c.end(g.transport.Handle(c.event(kind, handle, arg, size)))
	}
	return 0
}

func (g *Guest) open(e Event) error {
	s, err := abi.DecodeSettings(e.Bytes())
	if err != nil {
		return err
	}
	return g.transport.Open(&g.conn, &s)
}

// end turns the error of an event into its result. It first reports the reason, which the result
// has no room for.
func (c *Conn) end(err error) int32 {
	if err == nil {
		return 0
	}
	status := abi.ProtocolFailed
	var fault *Fault
	if errors.As(err, &fault) && fault.Status < abi.OK {
		status = fault.Status
	} else if errors.Is(err, abi.ErrMalformed) {
		status = abi.Malformed
	}
	c.Failed(0, status, err.Error())
	return int32(status)
}
