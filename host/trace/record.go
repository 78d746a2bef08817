package trace

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/jsontext"
)

// Kind says what a line of a trace file is about.
type Kind string

// The kinds. Those of the first row are about the file, those of the second
// about a connection, and the others are messages.
const (
	Start Kind = "start" // the first line: the format
	Gap   Kind = "gap"   // messages that are missing here, and how many
	End   Kind = "end"   // the last line: how many are missing in all

	Opened Kind = "opened"
	Lost   Kind = "lost"   // it ended, and nobody here wanted that
	Closed Kind = "closed" // it ended because the host closed it

	Request      Kind = "request"
	Response     Kind = "response"
	Notification Kind = "notification"
	Batch        Kind = "batch"     // an array of messages
	Malformed    Kind = "malformed" // not JSON-RPC
	Dropped      Kind = "dropped"   // one that was received and came to nothing, and why
)

var kinds = []Kind{Start, Gap, End, Opened, Lost, Closed, Request, Response, Notification, Batch, Malformed, Dropped}

// Ways that a message can go.
const (
	Sent     = "sent" // by the client
	Received = "received"
)

// Format is what the first line of a trace file says.
const Format = "wharf-trace/1"

// Record is one line of a trace file. What a line does not say is zero.
type Record struct {
	Kind   Kind
	Format string        // of a start
	Time   time.Time     // by the clock
	At     time.Duration // since the trace began, by a clock that nobody can set

	Server     string // its name in the configuration
	Connection int    // counts the connections with the server, from 1
	Transport  string // of an opened connection: its plugin
	Era        string // "legacy", "modern", "" while it is not known
	Protocol   string // the revision, once it is settled

	Direction string        // Sent or Received
	Method    string        // of a response: that of its request, where that was seen
	ID        []byte        // JSON
	Took      time.Duration // of a response: since its request
	Timed     bool          // Took is known
	Failed    bool          // a response that is an error

	Why     string // of Lost and Dropped, and of Start and End between two files
	Missing int    // of Gap and End
	Size    int    // of the message as it was on the wire, in bytes

	// A whole message is JSON, without white space. One that was cut, or is no
	// JSON, is text: the beginning that is known of it.
	Message []byte
	Text    string
}

// Append appends the record as one line, with the line break.
func (r *Record) Append(dst []byte) []byte {
	o := object(append(dst, '{'))
	o.text("kind", string(r.Kind))
	o.text("format", r.Format)
	o.text("time", r.Time.UTC().Format(timeFormat))
	o.number("at_us", r.At.Microseconds())
	o.text("server", r.Server)
	o.count("connection", r.Connection)
	o.text("transport", r.Transport)
	o.text("era", r.Era)
	o.text("protocol", r.Protocol)
	o.text("direction", r.Direction)
	o.text("method", r.Method)
	o.raw("id", r.ID)
	if r.Timed {
		o.number("took_us", r.Took.Microseconds())
	}
	if r.Failed {
		o.raw("failed", []byte("true"))
	}
	o.text("why", r.Why)
	o.count("missing", r.Missing)
	o.count("bytes", r.Size)
	o.raw("message", r.Message)
	o.text("text", r.Text)
	return append(o, "}\n"...)
}

// timeFormat is RFC 3339 with microseconds.
const timeFormat = "2006-01-02T15:04:05.000000Z07:00"

// object is a JSON object as it is written. Members that say nothing are left out.
type object []byte

func (o *object) name(name string) {
	if last := (*o)[len(*o)-1]; last != '{' {
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

func (o *object) number(name string, n int64) {
	o.name(name)
	*o = strconv.AppendInt(*o, n, 10)
}

func (o *object) count(name string, n int) {
	if n != 0 {
		o.number(name, int64(n))
	}
}

func (o *object) raw(name string, value []byte) {
	if len(value) > 0 {
		o.name(name)
		*o = append(*o, value...)
	}
}

var errForeign = errors.New("it is not a line of a trace")

// ParseLine reads a line. It takes any bytes. The record aliases the line. Members
// that it does not know are left alone: a later version may have more to say.
func ParseLine(line []byte) (Record, error) {
	var r Record
	if err := jsontext.Valid(line, jsontext.DefaultDepth+1); err != nil {
		return r, fmt.Errorf("%w: %w", errForeign, err)
	}
	in := jsontext.Read(line)
	if in.Kind() != '{' {
		return r, errForeign
	}
	for name := range in.Object() {
		r.member(string(name), in)
	}
	if err := in.Err(); err != nil {
		return r, fmt.Errorf("%w: %w", errForeign, err)
	}
	return r, r.check()
}

func (r *Record) member(name string, in *jsontext.Reader) {
	switch name {
	case "kind":
		r.Kind = Kind(in.String())
	case "format":
		r.Format = in.String()
	case "time":
		r.Time, _ = time.Parse(time.RFC3339, in.String())
	case "at_us":
		r.At = micros(in.Int())
	case "took_us":
		r.Took, r.Timed = micros(in.Int()), true
	case "server":
		r.Server = in.String()
	case "connection":
		r.Connection = int(in.Int())
	case "transport":
		r.Transport = in.String()
	case "era":
		r.Era = in.String()
	case "protocol":
		r.Protocol = in.String()
	case "direction":
		r.Direction = in.String()
	case "method":
		r.Method = in.String()
	case "id":
		r.ID = in.Raw()
	case "failed":
		r.Failed = in.Bool()
	case "why":
		r.Why = in.String()
	case "missing":
		r.Missing = int(in.Int())
	case "bytes":
		r.Size = int(in.Int())
	case "message":
		r.Message = in.Raw()
	case "text":
		r.Text = in.String()
	}
}

// micros is a duration as a line has it; one that no program has run for is none.
func micros(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Microsecond)
	if n < 0 || n > most {
		return 0
	}
	return time.Duration(n) * time.Microsecond
}

// check tells a line of a trace from JSON that happens to be there.
func (r *Record) check() error {
	switch {
	case !slices.Contains(kinds, r.Kind):
		return fmt.Errorf("%w: its kind is %.40q", errForeign, r.Kind)
	case r.Time.IsZero():
		return fmt.Errorf("%w: it has no time", errForeign)
	case r.Kind == Start && r.Format != Format:
		return fmt.Errorf("its format is %.40q, and %s is what can be read", r.Format, Format)
	case r.IsMessage() && r.Direction != Sent && r.Direction != Received:
		return fmt.Errorf("%w: it has no direction", errForeign)
	}
	return nil
}

// IsMessage reports whether the record is a message that went one way or the
// other.
func (r *Record) IsMessage() bool {
	return slices.Contains([]Kind{Request, Response, Notification, Batch, Malformed, Dropped}, r.Kind)
}
