package replay

import (
	"encoding/base64"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/jsontext"
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

// timeFormat is RFC 3339 with microseconds.
const timeFormat = "2006-01-02T15:04:05.000000Z07:00"

// object is a JSON object as it is written. Members that say nothing are left out.
type object []byte

// begin begins a line of that kind.
func (o *object) begin(kind string) {
	*o = append((*o)[:0], '{')
	o.text("kind", kind)
}

func (o *object) end() []byte {
	*o = append(*o, "}\n"...)
	return *o
}

func (o *object) name(name string) {
	if last := (*o)[len(*o)-1]; last != '{' && last != '[' {
		*o = append(*o, ',')
	}
	*o = append(append(append(*o, '"'), name...), `":`...)
}

func (o *object) text(name, value string) {
	if value != "" {
		o.name(name)
		*o = jsontext.AppendString(*o, value)
	}
}

func (o *object) count(name string, n int64) {
	if n != 0 {
		o.number(name, n)
	}
}

func (o *object) number(name string, n int64) {
	o.name(name)
	*o = strconv.AppendInt(*o, n, 10)
}

func (o *object) flag(name string, on bool) {
	if on {
		o.name(name)
		*o = append(*o, "true"...)
	}
}

func (o *object) base64(name string, p []byte) {
	if len(p) > 0 {
		o.name(name)
		*o = append(base64.StdEncoding.AppendEncode(append(*o, '"'), p), '"')
	}
}

// list writes numbers, if there are any.
func list[N int64 | uint32](o *object, name string, numbers []N) {
	if len(numbers) == 0 {
		return
	}
	o.name(name)
	*o = append(*o, '[')
	for i, n := range numbers {
		if i > 0 {
			*o = append(*o, ',')
		}
		*o = strconv.AppendInt(*o, int64(n), 10)
	}
	*o = append(*o, ']')
}

// content writes bytes as what is shorter: text, where they are, or base64.
func (o *object) content(c *content) {
	switch {
	case c.bytes == nil:
		o.count("size", int64(c.size))
	case utf8.Valid(c.bytes):
		from := len(*o)
		o.text("text", string(c.bytes))
		if len(*o)-from > 2*len(c.bytes)+len(`,"text":""`) {
			*o = (*o)[:from]
			o.base64("base64", c.bytes)
		}
	default:
		o.base64("base64", c.bytes)
	}
	o.flag("masked", c.masked)
	o.flag("hidden", c.hidden)
}

func (o *object) source(s *source) {
	list(o, "clock", s.clock)
	o.base64("random", s.random)
}

func (o *object) start(at time.Time) []byte {
	o.begin(kindStart)
	o.text("format", Format)
	o.text("time", at.UTC().Format(timeFormat))
	return o.end()
}

func (o *object) opening(c *opening) []byte {
	o.begin(kindConnection)
	o.number("connection", int64(c.connection))
	o.text("server", c.server)
	o.text("plugin", c.plugin)
	o.text("sha256", c.sha256)
	o.text("abi", c.abi)
	o.text("time", c.at.UTC().Format(timeFormat))
	o.source(&c.source)
	return o.end()
}

// note is a line that says why: a cut, an end of a connection, or the end.
func (o *object) note(kind string, connection int, why string) []byte {
	o.begin(kind)
	o.count("connection", int64(connection))
	o.text("why", why)
	return o.end()
}

func (o *object) step(s *step) []byte {
	o.begin(kindEvent)
	o.number("connection", int64(s.connection))
	o.number("n", int64(s.number))
	o.number("at_us", s.at.Microseconds())
	o.text("event", s.kind.String())
	o.count("handle", int64(s.handle))
	o.count("arg", int64(s.arg))
	o.content(&s.content)
	if s.kind == abi.EventOpen {
		o.settings(s.bytes)
	}
	o.source(&s.source)
	if len(s.calls) > 0 {
		o.name("calls")
		*o = append(*o, '[')
		for i := range s.calls {
			if i > 0 {
				*o = append(*o, ',')
			}
			o.call(&s.calls[i])
		}
		*o = append(*o, ']')
	}
	if s.trap != "" {
		o.text("trap", s.trap)
		o.flag("lied", s.lied)
	} else {
		o.number("result", int64(s.result))
	}
	return o.end()
}

func (o *object) call(c *call) {
	*o = append(*o, '{')
	o.text("call", c.op.String())
	list(o, "args", c.params())
	o.content(&c.content)
	if c.op.HasResult() {
		o.number("result", int64(c.result))
	}
	*o = append(*o, '}')
}

// settings repeats for people what an OPEN says in a block.
func (o *object) settings(block []byte) {
	s, err := abi.DecodeSettings(block)
	if err != nil {
		return
	}
	if len(s.Values) > 0 {
		o.name("settings")
		*o = append(*o, '{')
		for _, v := range s.Values {
			o.name(quotedName(v.Key))
			*o = jsontext.AppendString(*o, v.Value)
		}
		*o = append(*o, '}')
	}
	o.name("grants")
	*o = append(*o, '[')
	for i, g := range s.Grants {
		if i > 0 {
			*o = append(*o, ',')
		}
		*o = jsontext.AppendString(*o, g.Kind.String()+" "+g.Name)
	}
	*o = append(*o, ']')
}

// quotedName escapes a name that a plugin chose, without its quotes.
func quotedName(name string) string {
	quoted := jsontext.AppendString(nil, name)
	return string(quoted[1 : len(quoted)-1])
}
