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
	Lost   Kind = "lost"   // it ended, and the host did not close it
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

// Format is what the first line of a trace file says.
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

// appendTo appends the record as one line, with the line break.
func (r *Record) appendTo(dst []byte) []byte {
	o := jsonl.Object(dst)
	o.Open()
	o.Text("kind", string(r.Kind))
	o.Text("format", r.Format)
	o.Time("time", r.Time)
	o.Number("at_us", r.At.Microseconds())
	o.Text("server", r.Server)
	o.Count("connection", int64(r.Connection))
	o.Text("transport", r.Transport)
	o.Text("era", r.Era)
	o.Text("protocol", r.Protocol)
	o.Text("direction", r.Direction)
	o.Text("method", r.Method)
	o.Raw("id", r.ID)
	if r.Timed {
		o.Number("took_us", r.Took.Microseconds())
	}
	o.Flag("failed", r.Failed)
	o.Text("why", r.Why)
	o.Count("missing", int64(r.Missing))
	o.Count("bytes", int64(r.Size))
	o.Raw("message", r.Message)
	o.Text("text", r.Text)
	o.Close()
	return append(o, '\n')
}

// IsMessage reports whether the record is a message, which has a direction.
func (r *Record) IsMessage() bool {
	return slices.Contains([]Kind{Request, Response, Notification, Batch, Malformed, Dropped}, r.Kind)
}
