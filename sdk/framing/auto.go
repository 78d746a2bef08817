package framing

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// Auto finds out how a server frames its messages. The first text decides: it is a header if it
// begins with C or c, and a line if it begins with a brace or a bracket. A line that begins
// otherwise is noise: it is delivered as it stands, so that the host counts it, and the next
// line decides. Until the server has sent a header, Auto writes lines to it. The zero value is
// ready.
type Auto struct {
	lines   Lines
	lengths Lengths
	chosen  Framer   // nil until a text has decided
	noise   bool     // the current line does not decide
	window  [32]byte // the part of a payload that is looked at
}

// Send writes as the server does, or a line if that is not known yet.
func (a *Auto) Send(h sdk.Handle, message sdk.Payload) abi.Status {
	if a.chosen == nil {
		return a.lines.Send(h, message)
	}
	return a.chosen.Send(h, message)
}

// Data looks for the byte that decides, and passes on the bytes from there.
func (a *Auto) Data(p sdk.Payload) {
	for a.chosen == nil && p.Len() > 0 {
		p = a.sniff(p)
	}
	if p.Len() > 0 {
		a.chosen.Data(p)
	}
}

// End passes on that the stream has ended.
func (a *Auto) End(c *sdk.Conn) {
	if a.chosen != nil {
		a.chosen.End(c)
		return
	}
	a.lines.End(c)
}

// sniff looks at the beginning of p and returns the part that has to be framed. White space and
// a byte order mark decide nothing.
func (a *Auto) sniff(p sdk.Payload) sdk.Payload {
	if a.noise {
		return a.skipLine(p)
	}
	n := p.Take(a.window[:])
	for i, c := range a.window[:n] {
		switch {
		case c == 'C' || c == 'c':
			a.chosen = &a.lengths
		case c == '{' || c == '[':
			a.chosen = &a.lines
		case isSpace(c) || c == mark[0] || c == mark[1] || c == mark[2]:
			continue
		default:
			a.noise = true
		}
		return p.From(i)
	}
	return p.From(n)
}

func (a *Auto) skipLine(p sdk.Payload) sdk.Payload {
	end := p.Scan(newline) + 1
	a.noise = end == 0
	if a.noise {
		end = p.Len()
	}
	a.lines.Data(p.Slice(0, end))
	return p.From(end)
}
