package replay

import (
	"time"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/jsonl"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// Format is what the first line of a recording says.
const Format = "wharf-record/1"

// Kinds of lines.
const (
	kindStart      = "start"
	kindConnection = "connection"
	kindEvent      = "event"
	kindCut        = "cut"
	kindEnded      = "ended"
	kindEnd        = "end"
)

// line is one line of a recording, which each of its methods writes anew.
type line struct{ jsonl.Object }

func (o *line) begin(kind string) {
	o.Object = o.Object[:0]
	o.Open()
	o.Text("kind", kind)
}

func (o *line) end() []byte {
	o.Close()
	o.Object = append(o.Object, '\n')
	return o.Object
}

// content writes bytes as text or as base64, whichever is shorter.
func (o *line) content(c *content) {
	switch {
	case c.bytes == nil:
		o.Count("size", int64(c.size))
	case utf8.Valid(c.bytes):
		from := len(o.Object)
		o.Text("text", string(c.bytes))
		if len(o.Object)-from > 2*len(c.bytes)+len(`,"text":""`) {
			o.Object = o.Object[:from]
			o.Base64("base64", c.bytes)
		}
	default:
		o.Base64("base64", c.bytes)
	}
	o.Flag("masked", c.masked)
	o.Flag("hidden", c.hidden)
}

func (o *line) source(s *source) {
	jsonl.Numbers(&o.Object, "clock", s.clock)
	o.Base64("random", s.random)
}

func (o *line) start(at time.Time) []byte {
	o.begin(kindStart)
	o.Text("format", Format)
	o.Time("time", at)
	return o.end()
}

func (o *line) opening(c *opening) []byte {
	o.begin(kindConnection)
	o.Number("connection", int64(c.connection))
	o.Text("server", c.server)
	o.Text("plugin", c.plugin)
	o.Text("sha256", c.sha256)
	o.Text("abi", c.abi)
	o.Time("time", c.at)
	o.source(&c.source)
	return o.end()
}

// reason is a line that says why: a cut, the end of a connection, or the end.
func (o *line) reason(kind string, connection int, why string) []byte {
	o.begin(kind)
	o.Count("connection", int64(connection))
	o.Text("why", why)
	return o.end()
}

func (o *line) step(s *step) []byte {
	o.begin(kindEvent)
	o.Number("connection", int64(s.connection))
	o.Number("n", int64(s.number))
	o.Number("at_us", s.at.Microseconds())
	o.Text("event", s.kind.String())
	o.Count("handle", int64(s.handle))
	o.Count("arg", int64(s.arg))
	o.content(&s.content)
	if s.kind == abi.EventOpen {
		o.settings(s.bytes)
	}
	o.source(&s.source)
	if len(s.calls) > 0 {
		o.Name("calls")
		o.Object = append(o.Object, '[')
		for i := range s.calls {
			if i > 0 {
				o.Object = append(o.Object, ',')
			}
			o.call(&s.calls[i])
		}
		o.Object = append(o.Object, ']')
	}
	if s.trap != "" {
		o.Text("trap", s.trap)
		o.Flag("lied", s.lied)
	} else {
		o.Number("result", int64(s.result))
	}
	return o.end()
}

func (o *line) call(c *call) {
	o.Open()
	o.Text("call", c.op.String())
	jsonl.Numbers(&o.Object, "args", c.params())
	o.content(&c.content)
	if c.op.HasResult() {
		o.Number("result", int64(c.result))
	}
	o.Close()
}

// settings repeats the block of an OPEN for people.
func (o *line) settings(block []byte) {
	s, err := abi.DecodeSettings(block)
	if err != nil {
		return
	}
	if len(s.Values) > 0 {
		o.Name("settings")
		o.Open()
		for _, v := range s.Values {
			o.Name(quotedName(v.Key))
			o.Object = strictjson.AppendString(o.Object, v.Value)
		}
		o.Close()
	}
	o.Name("grants")
	o.Object = append(o.Object, '[')
	for i, g := range s.Grants {
		if i > 0 {
			o.Object = append(o.Object, ',')
		}
		o.Object = strictjson.AppendString(o.Object, g.Kind.String()+" "+g.Name)
	}
	o.Object = append(o.Object, ']')
}

// quotedName escapes a name that a plugin chose, and adds no quotes.
func quotedName(name string) string {
	quoted := strictjson.AppendString(nil, name)
	return string(quoted[1 : len(quoted)-1])
}
