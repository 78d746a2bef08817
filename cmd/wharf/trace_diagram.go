package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/cmd/wharf/internal/plain"
	"github.com/wharf-mcp/wharf/cmd/wharf/internal/term"
	"github.com/wharf-mcp/wharf/host/cleantext"
	"github.com/wharf-mcp/wharf/host/trace"
)

// diagram draws the lines of a trace: the time, the server and the number of the
// connection, an arrow between Wharf on the left and its peer on the right, and the
// message. The peer is a server, or a client of a gateway. The only state of a diagram is
// the protocol revision of each connection.
type diagram struct {
	terminal *term.Terminal
	full     bool
	speaks   map[peer]string
}

// peer is one connection of a trace.
type peer struct {
	server string
	number int
}

// Columns. On a narrow terminal the message has a row of its own, below that the arrow gets shorter, and
// below that each column has a row. If the width is unknown, a row is as long as on a wide terminal.
const (
	timeColumn   = 9
	nameColumn   = 14
	longestArrow = 44
	leastArrow   = 30
	leastBeside  = 40 // of a message beside its arrow
	leastMessage = 20
	unknownWidth = 140
	longestID    = 10
	maxPeers     = 10_000

	margin = timeColumn + 4 // of what stands below a row
)

// columns returns how many columns stdout has.
func (d *diagram) columns() int { return cmp.Or(d.terminal.Width, unknownWidth) }

// arrowColumn returns the width of the column between client and server.
func (d *diagram) arrowColumn() int {
	return min(max(d.columns()-timeColumn-nameColumn-4, leastArrow), longestArrow)
}

// draw returns a line of the trace as it is shown, with its line breaks.
func (d *diagram) draw(l *trace.Line) string {
	if l.Kind == trace.Start {
		return d.heading(l)
	}
	out := d.revision(l) + d.row(l)
	message := l.Text
	if l.Message != nil {
		message = term.Indented(l.Message)
	}
	if d.full && message != "" {
		blanks := strings.Repeat(" ", margin)
		text := strings.TrimRight(cleantext.Text(message), "\n")
		out += blanks + strings.ReplaceAll(text, "\n", "\n"+blanks) + "\n"
	}
	return out
}

// heading says when a trace began, or from which file it continues, and names the
// columns.
func (d *diagram) heading(l *trace.Line) string {
	began := "began " + l.Time.Format(time.RFC3339)
	if l.Why != "" {
		began = "goes on " + l.Time.Format(time.RFC3339) + "; " + plain.Line(l.Why)
	}
	if d.stacks() {
		return strings.Join(plain.Wrap(began, d.columns(), 2), "\n") + "\n" + d.terminal.StyleOut(term.Bold, "SECONDS  CONNECTION") + "\n"
	}
	text := fmt.Sprintf("%*s  %-*s  WHARF%*s", timeColumn, "SECONDS", nameColumn, "CONNECTION", d.arrowColumn()-len("WHARF"), "PEER")
	return began + "\n" + d.terminal.StyleOut(term.Bold, text) + "\n"
}

// revision returns a row of its own if a connection changes its protocol revision.
func (d *diagram) revision(l *trace.Line) string {
	who := peer{l.Server, l.Connection}
	switch {
	case l.Kind == trace.Lost, l.Kind == trace.Closed:
		delete(d.speaks, who)
		return ""
	case l.Kind == trace.Dropped: // a message may be dropped after the end
		return ""
	case l.Protocol == "" || d.speaks[who] == l.Protocol:
		return ""
	case d.speaks == nil || len(d.speaks) > maxPeers:
		d.speaks = make(map[peer]string)
	}
	d.speaks[who] = l.Protocol
	speaks := "speaks " + plain.Line(l.Protocol) + " (" + plain.Line(l.Era) + ")"
	if d.stacks() {
		return d.stack(l, "", "·· "+speaks, "")
	}
	return d.place(l) + d.rule(speaks) + "\n"
}

func (d *diagram) row(l *trace.Line) string {
	message, style := plain.Line(summary(l)), ""
	switch {
	case isFault(l):
		style = term.Red
	case !l.IsMessage():
		style = term.Bold
	}
	if d.stacks() {
		return d.stack(l, style, event(l), message)
	}
	out, arrow := d.place(l), d.arrow(l)
	if message == "" {
		return out + d.dress(style, strings.TrimRight(arrow, " ")) + "\n"
	}
	left := d.columns() - utf8.RuneCountInString(out) - d.arrowColumn() - 2
	if left < leastBeside || isFault(l) && utf8.RuneCountInString(message) > left { // faults are what a person looks for
		below := strings.Repeat(" ", margin) + plain.Clip(message, max(d.columns()-margin, leastMessage))
		return out + d.dress(style, arrow) + "\n" + below + "\n"
	}
	return out + d.dress(style, arrow) + "  " + plain.Clip(message, left) + "\n"
}

// stacks reports whether there is no room for columns beside each other.
func (d *diagram) stacks() bool { return d.columns() < timeColumn+nameColumn+4+leastArrow }

// stack returns a line of the trace whose columns do not fit: the time and the connection, below
// them the event, and below that the message, which is cut unless it is a fault.
func (d *diagram) stack(l *trace.Line, style, what, message string) string {
	where := fmt.Sprintf("%.4f", l.At.Seconds())
	if l.Server != "" {
		where += fmt.Sprintf("  %s %d", plain.Line(l.Server), l.Connection)
	}
	if !isFault(l) {
		message = plain.Clip(message, max(d.columns()-6, leastMessage-6))
	}
	var out strings.Builder
	for i, text := range []string{where, what, plain.Clip(message, term.OfMessage.Bytes)} {
		if text == "" {
			continue
		}
		blanks := strings.Repeat(" ", []int{0, 2, 6}[i])
		for _, row := range plain.Wrap(text, d.columns()-len(blanks), 2) {
			if i == 1 {
				row = d.dress(style, row)
			}
			out.WriteString(blanks + row + "\n")
		}
	}
	return out.String()
}

// event returns in full what the arrow between client and server says.
func event(l *trace.Line) string {
	if text := happening(l); text != "" {
		return "·· " + text
	}
	arrow := "◀──"
	if l.Direction == "sent" {
		arrow = "──▶"
	}
	text := arrow + " " + cmp.Or(plain.Line(l.Method), string(l.Kind))
	if failed(l) {
		text += " ✗"
	}
	if len(l.ID) > 0 {
		text += " " + plain.Line(string(l.ID))
	}
	if l.Timed {
		text += " (" + span(l.Took) + ")"
	}
	return text
}

func (d *diagram) dress(style, text string) string {
	if style == "" {
		return text
	}
	return d.terminal.StyleOut(style, text)
}

// place returns the first two columns of a line: the time, and the server with the
// number of its connection.
func (d *diagram) place(l *trace.Line) string {
	name := ""
	if l.Server != "" {
		number := fmt.Sprint(" ", l.Connection)
		name = plain.Clip(plain.Line(l.Server), max(1, nameColumn-len(number))) + number
	}
	return fmt.Sprintf("%*.4f  %-*s  ", timeColumn, l.At.Seconds(), nameColumn, name)
}

// isFault reports whether a line may tell what went wrong.
func isFault(l *trace.Line) bool {
	switch l.Kind {
	case trace.Lost, trace.Gap, trace.Malformed, trace.Dropped:
		return true
	case trace.End:
		return l.Missing > 0
	}
	return failed(l)
}

// arrow returns the text of the column between client and server.
func (d *diagram) arrow(l *trace.Line) string {
	if text := happening(l); text != "" {
		return d.rule(text)
	}
	took := ""
	if l.Timed {
		took = " " + span(l.Took) + " ─"
	}
	room := d.arrowColumn() - 6 - utf8.RuneCountInString(took)
	label := label(l, room)
	shaft := strings.Repeat("─", 1+room-utf8.RuneCountInString(label))
	if l.Direction == "sent" {
		return "──" + label + shaft + took + "──▶"
	}
	return "◀──" + label + shaft + took + "──"
}

// happening describes an event that was no message; it returns "" for a message.
func happening(l *trace.Line) string {
	switch l.Kind {
	case trace.Opened:
		return "opened " + plain.Line(l.Transport)
	case trace.Gap, trace.End:
		if l.Missing > 0 {
			return counted(l.Missing, "message") + " missing"
		}
		return "the end"
	case trace.Lost, trace.Closed, trace.Dropped:
		return string(l.Kind)
	}
	return ""
}

// label names a message: its method, or else its kind, and its id. It has at most room
// runes.
func label(l *trace.Line, room int) string {
	name, id := cmp.Or(plain.Line(l.Method), string(l.Kind)), ""
	if failed(l) {
		id = " ✗"
	}
	if len(l.ID) > 0 {
		id += " " + plain.Clip(plain.Line(string(l.ID)), min(longestID, room-6))
	}
	return " " + plain.Clip(name, room-2-utf8.RuneCountInString(id)) + id + " "
}

// rule returns the column between client and server for a line that is no message: a line with text
// in it.
func (d *diagram) rule(text string) string {
	text = "·· " + plain.Clip(text, d.arrowColumn()-6) + " "
	return text + strings.Repeat("·", d.arrowColumn()-utf8.RuneCountInString(text))
}

// span returns a duration with about three digits.
func span(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// summary returns the text of a line: the params of a request, the content of an answer, or the
// reason of a failure.
func summary(l *trace.Line) string {
	text := l.Why
	switch {
	case text != "":
	case l.Message == nil:
		text = l.Text
	default:
		text = content(l.Message)
	}
	if l.Text != "" && l.Size > len(l.Text) {
		text = fmt.Sprintf("(%d bytes) %s", l.Size, text)
	}
	return text
}

// envelope holds the parts of a message that a diagram shows.
type envelope struct {
	Params, Result json.RawMessage
	Error          *struct {
		Code    json.Number
		Message string
	}
}

// content returns the part of a message that its label does not have.
func content(message []byte) string {
	var m envelope
	switch json.Unmarshal(message, &m); {
	case m.Error != nil:
		return m.Error.Code.String() + " " + m.Error.Message
	case m.Result != nil:
		return withoutMeta(m.Result)
	case m.Params != nil:
		return withoutMeta(m.Params)
	case len(message) > 0 && message[0] == '[':
		return string(message)
	}
	return ""
}

// longContent is the size from which a message is not decoded: only its beginning is
// shown, and a map of its members could take ten times its length.
const longContent = 64 << 10

// withoutMeta leaves out _meta, which every message has, because the room is short.
func withoutMeta(value json.RawMessage) string {
	if len(value) > longContent {
		return string(value)
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil || members["_meta"] == nil {
		return string(value)
	}
	delete(members, "_meta")
	if len(members) == 0 {
		return ""
	}
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.Encode(members)
	return out.String()
}

// failed reports whether an answer is an error, by the protocol or by the tool.
func failed(l *trace.Line) bool {
	if l.Failed || l.Kind != trace.Response {
		return l.Failed
	}
	var m struct {
		Result struct{ IsError bool }
	}
	return json.Unmarshal(l.Message, &m) == nil && m.Result.IsError
}
