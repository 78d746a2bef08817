package replay

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/flowrecord"
	"github.com/wharf-mcp/wharf/host/internal/guest"
	"github.com/wharf-mcp/wharf/host/internal/jsonl"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// Format is the format that the first line of a recording names.
const Format = "wharf-record/1"

// Kinds of lines.
const (
	kindStart      = "start"
	kindConnection = "connection"
	kindEvent      = "event"
	kindCut        = "cut"
	kindEnded      = "ended"
	kindEnd        = "end"
	kindFlow       = flowrecord.Kind
)

// line is a line of a recording: a connection leaves it for the writer, and Run reads it.
type line struct {
	kind       string
	format     string // of the start
	connection int
	why        string    // of a cut and an end
	at         time.Time // of the start and a connection
	opening    *opening  // of a connection; in a line that is read never nil
	step       *step     // of an event; in a line that is read never nil
	flow       []byte    // the whole line of a sign-in, without its end; nil in other lines
}

var (
	errForeign = errors.New("it is not a line of a recording")
	errShort   = errors.New("it is damaged: something is missing")
)

// flowBegins is the beginning of the line of a sign-in.
var flowBegins = []byte(`{"kind":"` + kindFlow + `"`)

// parse reads a line. The result does not alias it.
func parse(text []byte) (*line, error) {
	if bytes.HasPrefix(text, flowBegins) {
		return &line{kind: kindFlow}, nil // package flowrecord reads it
	}
	o := &line{opening: &opening{}, step: &step{}}
	if err := jsonl.Read(text, o.members); err != nil {
		return nil, fmt.Errorf("%w: %w", errForeign, err)
	}
	return o, o.check()
}

// members lists the members of a line for l, which reads or writes them.
func (o *line) members(l *jsonl.Line) {
	l.Text("kind", &o.kind)
	l.Text("format", &o.format)
	jsonl.Count(l, "connection", &o.connection)
	l.Text("why", &o.why)
	if c := o.opening; c != nil {
		l.Text("server", &c.server)
		l.Text("plugin", &c.plugin)
		l.Text("sha256", &c.sha256)
		l.Text("abi", &c.abi)
	}
	l.Time("time", &o.at)
	if o.opening != nil && l.Writing() {
		o.opening.source.members(l)
	}
	if o.step != nil {
		o.step.members(l)
	}
}

func (s *source) members(l *jsonl.Line) {
	jsonl.Numbers(l, "clock", &s.clock)
	l.Base64("random", &s.random)
}

func (s *step) members(l *jsonl.Line) {
	jsonl.Number(l, "n", &s.number)
	l.Micros("at_us", &s.at)
	event, isRead := s.kind.String(), l.Reads("event")
	if l.Text("event", &event); isRead {
		for s.kind = abi.EventDescribe; s.kind.String() != event; s.kind++ {
			if s.kind == abi.EventClose {
				l.Fail(fmt.Errorf("the event %.20q", event))
				break
			}
		}
	}
	jsonl.Count(l, "handle", &s.handle)
	jsonl.Count(l, "arg", &s.arg)
	s.content.members(l)
	if s.kind == abi.EventOpen && l.Writing() {
		describeSettings(l, s.bytes)
	}
	s.source.members(l)
	jsonl.Array(l, "calls", &s.calls, func(c *call) { c.element(l) })
	l.Text("trap", &s.trap)
	l.Flag("lied", &s.lied)
	if s.trap == "" || !l.Writing() {
		jsonl.Number(l, "result", &s.result)
	}
}

// members lists the bytes for l. They are written as text or as base64, whichever is shorter.
func (c *content) members(l *jsonl.Line) {
	switch from := len(l.Out); {
	case l.Reads("text"):
		var text string
		l.Text("text", &text)
		c.bytes = []byte(text)
	case !l.Writing():
		l.Base64("base64", &c.bytes)
		jsonl.Count(l, "size", &c.size)
	case c.bytes == nil:
		jsonl.Count(l, "size", &c.size)
	case !utf8.Valid(c.bytes):
		l.Base64("base64", &c.bytes)
	default:
		text := string(c.bytes)
		if l.Text("text", &text); len(l.Out)-from > 2*len(text)+len(`,"text":""`) {
			l.Out = l.Out[:from]
			l.Base64("base64", &c.bytes)
		}
	}
	l.Flag("masked", &c.masked)
	l.Flag("hidden", &c.hidden)
}

// describeSettings repeats the settings and grants of an OPEN for people.
func describeSettings(l *jsonl.Line, block []byte) {
	s, err := abi.DecodeSettings(block)
	if err != nil {
		return
	}
	var settings []byte
	for i, v := range s.Values {
		settings = append(strictjson.AppendString(append(settings, "{,"[min(i, 1)]), v.Key), ':')
		settings = strictjson.AppendString(settings, v.Value)
	}
	if settings != nil {
		settings = append(settings, '}')
	}
	l.Raw("settings", &settings)
	grants := []byte{'['}
	for i, g := range s.Grants {
		if i > 0 {
			grants = append(grants, ',')
		}
		grants = strictjson.AppendString(grants, g.Kind.String()+" "+g.Name)
	}
	grants = append(grants, ']')
	l.Raw("grants", &grants)
}

// element lists the members of a call, an element of an event's calls, for l. The request of an
// open is encoded anew.
func (c *call) element(l *jsonl.Line) {
	var args []uint32
	known := l.Writing()
	if known {
		args = c.params()
	}
	l.Object(func() {
		name, isRead := c.op.String(), l.Reads("call")
		if l.Text("call", &name); isRead {
			all := abi.Calls()
			i := slices.IndexFunc(all, func(op abi.Call) bool { return op.String() == name })
			if known = i >= 0; known {
				c.op = all[i]
			}
		}
		jsonl.Numbers(l, "args", &args)
		c.content.members(l)
		if c.op.HasResult() || !l.Writing() {
			jsonl.Number(l, "result", &c.result)
		}
	})
	if l.Writing() {
		return
	}
	if !known || len(args) != c.op.Params() {
		l.Fail(errors.New("an unknown host call"))
		return
	}
	copy(c.args[:], args)
	if err := c.check(); err != nil {
		l.Fail(fmt.Errorf("%v: %w", c.op, err))
	}
}

// check completes a call that was read, and refuses one whose bytes have a wrong length.
func (c *call) check() error {
	at := guest.PointerArg(c.op)
	if at >= 0 {
		c.args[at] = 0
	}
	if !carries(c.op) {
		c.content = content{}
		return nil
	}
	size := int(c.args[at+1])
	switch {
	case c.hidden:
		c.bytes, c.size = nil, size
		return nil
	case c.op == abi.CallOpen:
		c.size = len(c.bytes)
		_, err := abi.DecodeOpenRequest(c.bytes)
		return err
	}
	if c.size = len(c.bytes); c.size != size {
		return errShort
	}
	return nil
}

// check refuses JSON that is not a line of a recording, and completes one that is.
func (o *line) check() error {
	switch s := o.step; o.kind {
	case kindStart:
		if o.format != Format {
			return fmt.Errorf("its format is %.40q; expected %s", o.format, Format)
		}
	case kindCut, kindEnded, kindEnd:
	case kindConnection:
		if of := o.opening.abi; of != "" && of != abi.Module {
			return fmt.Errorf("it is of a guest that spoke %.40q; expected %s", of, abi.Module)
		}
		o.opening.source = s.source
	case kindEvent:
		if s.bytes != nil {
			s.size = len(s.bytes)
		}
		switch {
		case s.kind == 0, s.size < 0 || s.size > maxLine, s.bytes == nil && s.size > 0 && !s.sealed(),
			s.kind == abi.EventMessage && int(s.handle) > s.size:
			return errShort
		}
	default:
		return fmt.Errorf("%w: its kind is %.40q", errForeign, o.kind)
	}
	return nil
}
