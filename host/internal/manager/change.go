package manager

import (
	"time"

	"github.com/wharf-mcp/wharf/host/status"
)

// Change says how a server's entry differs from before.
type Change struct {
	// SameEntry says that the entry is unchanged and only the connection's transport differs. The
	// next connection may go on with the server's session, and a disabled server stays disabled.
	SameEntry bool

	Disabled bool // unless SameEntry: whether the server is off from now on
}

// Change says that the entry of the server, its plugin or something that these depend on has
// changed. It forgets all failures and replaces an open connection. Callers that wait go on
// waiting.
func (m *Machine) Change(now time.Time, c Change) []Effect {
	if m.ended || m.status.State == status.Closing {
		return m.effects()
	}
	m.known, m.status.Err = false, nil
	off := c.Disabled
	if c.SameEntry {
		off = m.status.State == status.Disabled
	}
	switch {
	case off:
		m.drop(Abort)
	case !c.SameEntry || m.conn == connDialing || m.inherit == inheritConnection: // the last two belong to the previous transport
		m.drop(Drain)
	case m.conn == connUp:
		m.drop(HandOver)
		m.inherit = inheritSession
	}
	switch {
	case !off:
		m.startOver(now, status.Changed)
	case m.status.State != status.Disabled:
		m.set(now, status.Disabled, status.TurnedOff)
		m.refuse(now)
	}
	return m.effects()
}
