package main

import (
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
// connection, an arrow between the client on the left and the server on the right,
// and the message. Its only state is the protocol revision of each connection.
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

// Columns. The last takes what is left; if the width is unknown, a line is as long as
// on a wide terminal.
const (
	nameColumn   = 14
	arrowColumn  = 44
	unknownWidth = 140
	leastMessage = 20
	longestID    = 10
	maxPeers     = 10_000
)

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
		const margin = "             "
		text := strings.TrimRight(cleantext.Text(message), "\n")
		out += margin + strings.ReplaceAll(text, "\n", "\n"+margin) + "\n"
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
	text := fmt.Sprintf("%9s  %-*s  CLIENT%*s", "SECONDS", nameColumn, "CONNECTION", arrowColumn-len("CLIENT"), "SERVER")
	return began + "\n" + d.terminal.StyleOut(term.Bold, text) + "\n"
}

// revision is a row of its own where a connection changes its protocol revision.
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
	return d.place(l) + rule("speaks "+plain.Line(l.Protocol)+" ("+plain.Line(l.Era)+")") + "\n"
}

func (d *diagram) row(l *trace.Line) string {
	out := d.place(l)
	arrow, message := d.arrow(l), plain.Line(summary(l))
	style := ""
	switch {
	case isFault(l):
		style = term.Red
	case !l.IsMessage():
		style = term.Bold
	}
	if message == "" {
		return out + d.dress(style, strings.TrimRight(arrow, " ")) + "\n"
	}
	width := d.terminal.Width
	if width == 0 {
		width = unknownWidth
	}
	left := max(width-utf8.RuneCountInString(out)-arrowColumn-2, leastMessage)
	return out + d.dress(style, arrow) + "  " + plain.Clip(message, left) + "\n"
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
	return fmt.Sprintf("%9.4f  %-*s  ", l.At.Seconds(), nameColumn, name)
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

// arrow is the column between client and server.
func (d *diagram) arrow(l *trace.Line) string {
	switch l.Kind {
	case trace.Opened:
		return rule("opened " + plain.Line(l.Transport))
	case trace.Gap, trace.End:
		if l.Missing > 0 {
			return rule(fmt.Sprintf("%d messages are missing", l.Missing))
		}
		return rule("the end")
	case trace.Lost, trace.Closed, trace.Dropped:
		return rule(string(l.Kind))
	}
	took := ""
	if l.Timed {
		took = " " + span(l.Took) + " ─"
	}
	room := arrowColumn - 6 - utf8.RuneCountInString(took)
	label := label(l, room)
	shaft := strings.Repeat("─", 1+room-utf8.RuneCountInString(label))
	if l.Direction == "sent" {
		return "──" + label + shaft + took + "──▶"
	}
	return "◀──" + label + shaft + took + "──"
}

// label names a message: its method, or else its kind, and its id. It has at most room
// runes.
func label(l *trace.Line, room int) string {
	name, id := plain.Line(l.Method), ""
	if name == "" {
		name = string(l.Kind)
	}
	if failed(l) {
		id = " ✗"
	}
	if len(l.ID) > 0 {
		id += " " + plain.Clip(plain.Line(string(l.ID)), longestID)
	}
	return " " + plain.Clip(name, room-2-utf8.RuneCountInString(id)) + id + " "
}

// rule is a line across the column for what is not a message.
func rule(text string) string {
	text = "·· " + plain.Clip(text, arrowColumn-6) + " "
	return text + strings.Repeat("·", arrowColumn-utf8.RuneCountInString(text))
}

// span is a duration in three digits or so.
func span(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// summary is the text of a line: the params of a request, the content of an answer, or
// the reason of a failure.
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

// envelope is what a diagram reads of a message.
type envelope struct {
	Params, Result json.RawMessage
	Error          *struct {
		Code    json.Number
		Message string
	}
}

// content is the part of a message that is not in its label.
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

// failed reports whether an answer says that something went wrong: the protocol
// says so, or the tool.
func failed(l *trace.Line) bool {
	if l.Failed || l.Kind != trace.Response {
		return l.Failed
	}
	var m struct {
		Result struct{ IsError bool }
	}
	return json.Unmarshal(l.Message, &m) == nil && m.Result.IsError
}
