package trace

import (
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/jsonl"
)

// Kind says what a line of a trace file is about.
type Kind string

// The kinds: of the file, of a connection, and of messages.
const (
	Start Kind = "start" // the first line: the format
	Gap   Kind = "gap"   // messages that are missing here, and how many
	End   Kind = "end"   // the last line: how many are missing in all

	Opened Kind = "opened"
	Lost   Kind = "lost"   // it ended without the host closing it
	Closed Kind = "closed" // the host closed it

	Request      Kind = "request"
	Response     Kind = "response"
	Notification Kind = "notification"
	Batch        Kind = "batch"     // an array of messages
	Malformed    Kind = "malformed" // not JSON-RPC
	Dropped      Kind = "dropped"   // received and discarded, and why
)

var kinds = []Kind{Start, Gap, End, Opened, Lost, Closed, Request, Response, Notification, Batch, Malformed, Dropped}

// Directions of a message.
const (
	Sent     = "sent"     // by the host
	Received = "received" // by the host
)

// Format is the format that the first line of a trace file names.
const Format = "wharf-trace/1"

// Record is one line of a trace file. Members that the line does not have are zero.
type Record struct {
	Kind   Kind
	Format string        // of a start
	Time   time.Time     // on the wall clock
	At     time.Duration // since the trace began, on the monotonic clock

	Server     string // the name in the configuration
	Connection int    // counts the connections to the server, from 1
	Transport  string // the plugin; of Opened only
	Era        string // "legacy", "modern", or "" while it is not known
	Protocol   string // the revision, once it is settled

	Direction string        // Sent or Received
	Method    string        // of a response: the method of its request, if that was seen
	ID        []byte        // JSON
	Took      time.Duration // of a response: since its request
	Timed     bool          // Took is known
	Failed    bool          // the response is an error

	Why     string // of Lost and Dropped, and of Start and End where a file was full
	Missing int    // of Gap and End
	Size    int    // of the message on the wire, in bytes

	Message []byte // a whole message: JSON without white space
	Text    string // instead of Message: the beginning of a message that was cut or is not JSON
}

// members lists the members of a line for l, which reads or writes them.
func (r *Record) members(l *jsonl.Line) {
	l.Text("kind", (*string)(&r.Kind))
	l.Text("format", &r.Format)
	l.Time("time", &r.Time)
	l.Micros("at_us", &r.At)
	l.Text("server", &r.Server)
	jsonl.Count(l, "connection", &r.Connection)
	l.Text("transport", &r.Transport)
	l.Text("era", &r.Era)
	l.Text("protocol", &r.Protocol)
	l.Text("direction", &r.Direction)
	l.Text("method", &r.Method)
	l.Raw("id", &r.ID)
	if r.Timed = r.Timed || l.Reads("took_us"); r.Timed {
		l.Micros("took_us", &r.Took)
	}
	l.Flag("failed", &r.Failed)
	l.Text("why", &r.Why)
	jsonl.Count(l, "missing", &r.Missing)
	jsonl.Count(l, "bytes", &r.Size)
	l.Raw("message", &r.Message)
	l.Text("text", &r.Text)
}

// IsMessage reports whether the record is a message, which has a direction.
func (r *Record) IsMessage() bool {
	return slices.Contains([]Kind{Request, Response, Notification, Batch, Malformed, Dropped}, r.Kind)
}
