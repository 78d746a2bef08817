package framing

import (
	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/sdk"
)

// mark is the byte order mark with which some servers begin.
var mark = [3]byte{0xEF, 0xBB, 0xBF}

// Lines frames newline-delimited JSON, the framing of MCP over byte streams
// (2026-07-28, basic/transports/stdio). A message costs two host calls, a scan
// and a deliver. A carriage return stays with its line, since it is white
// space in JSON; a byte order mark is dropped at the very start and nowhere
// else; empty lines are skipped. A line that the host finds malformed has no
// effect on those after it. The zero value is ready.
type Lines struct {
	open   bool    // a part of the current line is delivered
	begun  bool    // the start was checked for a byte order mark
	marked int     // bytes of the mark that are withheld
	head   [3]byte // what the check looks at
	final  final   // of the delivered part
}

var lineEnd = []byte{'\n'}

// Send writes the message and a newline, which leave together.
func (l *Lines) Send(h sdk.Handle, message sdk.Payload) abi.Status {
	if s := h.Forward(message, abi.More); s < abi.OK {
		return s
	}
	return h.Write(lineEnd, abi.More)
}

// Data delivers the lines that end in p, and the part of one that p ends with.
func (l *Lines) Data(p sdk.Payload) {
	if !l.begun {
		p = l.skipMark(p)
	}
	for p.Len() > 0 {
		i := p.Scan(newline)
		if i < 0 {
			p.Deliver(shared, abi.More)
			l.final.note(p)
			l.open = true
			return
		}
		if i > 0 || l.open {
			p.Slice(0, i).Deliver(shared, abi.End)
		}
		l.open, l.final.last = false, 0
		p = p.From(i + 1)
	}
}

// End delivers a last line that has no newline. A line that does not end as a message does is
// not delivered: the server ended in the middle of it.
func (l *Lines) End(c *sdk.Conn) {
	if l.open && l.final.closes() {
		c.Deliver(shared, nil, abi.End)
	}
	l.open, l.final.last = false, 0
}

// skipMark returns p without a byte order mark at its beginning. Bytes that may belong to a mark
// are withheld until that is certain.
func (l *Lines) skipMark(p sdk.Payload) sdk.Payload {
	withheld := l.marked
	n := p.Take(l.head[:len(mark)-withheld])
	for _, c := range l.head[:n] {
		if c != mark[l.marked] {
			l.release(p.Conn(), withheld)
			return p
		}
		l.marked++
	}
	l.begun = l.marked == len(mark)
	return p.From(n)
}

// release delivers bytes that were withheld and turned out not to be a mark.
func (l *Lines) release(c *sdk.Conn, withheld int) {
	l.begun = true
	if withheld > 0 {
		c.Deliver(shared, mark[:withheld], abi.More)
		l.open = true
	}
}
