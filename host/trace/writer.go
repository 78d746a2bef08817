package trace

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/jsonl"
	"github.com/wharf-mcp/wharf/host/internal/redact"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// writer makes lines of entries and writes them. It belongs to one goroutine.
type writer struct {
	out       *jsonl.Output
	file      *rotatingFile // below out; nil for an output without a limit
	room      int64         // bytes until file is full
	rotations int
	secrets   *redact.Set
	began     time.Time
	line      jsonl.Line
	missing   int // messages, in all
}

func newWriter(w io.WriteCloser) *writer {
	return &writer{out: jsonl.NewOutput(w), began: time.Now()}
}

func (w *writer) Begin() {
	w.write(&Record{Kind: Start, Format: Format, Time: w.began})
	w.Flush()
}

func (w *writer) Write(b *batch) {
	for i := range b.Entries {
		w.entry(b, &b.Entries[i])
	}
	if b.Missing > 0 {
		w.missing += b.Missing
		w.write(&Record{Kind: Gap, Time: time.Now(), Missing: b.Missing})
	}
}

func (w *writer) Flush() { w.out.Flush() }

// End writes the last line. Its error says what the file lacks.
func (w *writer) End() error {
	w.finish("")
	w.out.Close()
	switch {
	case w.out.Err != nil:
		return fmt.Errorf("the trace is not complete: %w", w.out.Err)
	case w.missing > 0:
		return fmt.Errorf("the trace is not complete: %d messages are missing, because they came faster than they could be written", w.missing)
	case w.rotations > 1:
		return fmt.Errorf("the trace is not complete: its beginning is gone, as more than %s and %s hold", w.file.name(), w.file.previous())
	}
	return nil
}

// write writes a line. If the file has no room for it, write first goes on to the next file.
func (w *writer) write(r *Record) {
	if w.file != nil && w.room <= 0 && w.out.Err == nil {
		w.rotate()
	}
	w.append(r)
}

func (w *writer) append(r *Record) {
	r.At = r.Time.Sub(w.began)
	w.line.Begin(w.line.Out[:0])
	r.members(&w.line)
	line := w.line.End()
	w.room -= int64(len(line))
	w.out.Write(line)
}

// rotate continues in another file. Each of the two files names the other. If the file cannot be
// renamed, its last line says why it is the last.
func (w *writer) rotate() {
	if why := w.file.blocked(); why != nil {
		why = fmt.Errorf("the file is full: %w", why)
		w.finish(why.Error())
		w.out.Err = cmp.Or(w.out.Err, why)
		return
	}
	w.finish("the file is full; " + w.file.name() + " goes on")
	if w.out.Err == nil {
		w.out.Err = w.file.rotate()
	}
	w.rotations++
	w.room = w.file.most
	w.append(&Record{Kind: Start, Format: Format, Time: time.Now(), Why: "what was before is in " + w.file.previous()})
}

// finish writes the last line of a file.
func (w *writer) finish(why string) {
	w.append(&Record{Kind: End, Time: time.Now(), Missing: w.missing, Why: why})
	w.Flush()
}

// entry writes the line of one entry.
func (w *writer) entry(b *batch, e *entry) {
	c := e.connection
	r := Record{
		Kind: e.kind, Time: e.at, Server: c.server, Connection: c.number,
		Protocol: e.version, Era: string(mcp.EraOf(e.version)), Size: e.size,
	}
	if e.why != nil {
		r.Why = string(w.secrets.Redact([]byte(e.why.Error())))
	}
	switch e.kind {
	case Opened:
		r.Transport = c.transport
	case Lost, Closed:
		c.pending = pendingRequests{}
	default:
		w.message(&r, b, e)
	}
	w.write(&r)
}

// droppedCap is how many bytes of a message the line has that says that the message was dropped.
// Before it, the message has a line of its own.
const droppedCap = 1 << 10

// message adds the facts about a message, without its secrets.
func (w *writer) message(r *Record, b *batch, e *entry) {
	text := e.text.of(b)
	if e.kind == Dropped {
		text = text[:min(len(text), droppedCap)]
	}
	cut := len(text) < e.size
	text = w.secrets.JSON(text, cut)
	r.Direction = Received
	if e.sent {
		r.Direction = Sent
	}
	var broken error
	if !cut {
		r.Message, broken = strictjson.AppendRaw(nil, text)
	}
	if cut || broken != nil {
		r.Message, r.Text = nil, string(text)
	}
	if e.kind == Dropped {
		return
	}
	r.read(text, cut)
	if r.Kind == Response && r.ID == nil && cut {
		r.ID = strictjson.LastID(e.tail.of(b))
	}
	if broken != nil {
		r.Kind = Malformed
	}
	e.connection.pending.match(r)
}

// read finds out what kind of message msg is. If msg was cut, the id or even the method may be
// missing. A message without a method counts as a response, because responses are the messages
// that get long.
func (r *Record) read(msg []byte, cut bool) {
	in := strictjson.Read(msg)
	switch in.Kind() {
	case '[':
		r.Kind = Batch
		return
	case '{':
	default:
		r.Kind = Malformed
		return
	}
	answered := false
	for name := range in.Object() {
		switch string(name) {
		case "method":
			r.Method = in.String()
			r.Method = r.Method[:min(len(r.Method), maxToken)]
		case "id":
			if raw := in.Raw(); len(raw) <= maxToken && strictjson.Valid(raw, 1) == nil {
				r.ID = raw
			}
		case "result":
			answered = true
		case "error":
			answered, r.Failed = true, true
		}
	}
	switch {
	case r.Method != "" && r.ID != nil:
		r.Kind = Request
	case r.Method != "":
		r.Kind = Notification
	case answered || cut:
		r.Kind = Response
	default:
		r.Kind = Malformed
	}
}

// maxToken is the longest method or id that is recorded, in bytes.
const maxToken = 1 << 10

// pendingRequests holds the requests of a connection that have no response yet. Beyond a bound
// it forgets the oldest, since some are never answered.
type pendingRequests struct {
	open  map[string]pendingRequest // by direction and id
	order []string                  // the keys, the oldest first; also of answered requests
}

type pendingRequest struct {
	method string
	at     time.Time
}

const maxPending = 10_000

// match remembers a request. To a response it adds what is known of its request.
func (p *pendingRequests) match(r *Record) {
	switch r.Kind {
	case Request:
		p.add(r.Direction+string(r.ID), pendingRequest{r.Method, r.Time})
	case Response:
		asked := Sent // the direction of the request
		if r.Direction == Sent {
			asked = Received
		}
		key := asked + string(r.ID)
		if q, found := p.open[key]; found {
			r.Method, r.Took, r.Timed = q.method, r.Time.Sub(q.at), true
			delete(p.open, key)
		}
	}
}

func (p *pendingRequests) add(key string, q pendingRequest) {
	if p.open == nil {
		p.open = make(map[string]pendingRequest)
	}
	p.open[key] = q
	if p.order = append(p.order, key); len(p.order) < maxPending {
		return
	}
	for _, old := range p.order[:maxPending/2] {
		delete(p.open, old)
	}
	p.order = append(p.order[:0], p.order[maxPending/2:]...)
}
