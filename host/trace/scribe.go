package trace

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/jsontext"
	"github.com/wharf-mcp/wharf/host/mcp"
)

// scribe makes lines of notes and writes them. It belongs to one goroutine.
type scribe struct {
	file    io.WriteCloser
	out     *bufio.Writer
	roll    *roll // the same file, if it has an end; else nil
	room    int64 // bytes until it is full
	turns   int   // of the roll
	veil    *veil
	began   time.Time
	line    []byte
	missing int   // in all
	err     error // the first of the file; nothing is written after it
}

func newScribe(w io.WriteCloser, v *veil) *scribe {
	return &scribe{file: w, out: bufio.NewWriterSize(w, 64<<10), veil: v, began: time.Now()}
}

// rolling is a scribe whose file has an end.
func rolling(r *roll, v *veil) *scribe {
	s := newScribe(r, v)
	s.roll, s.room = r, r.most
	return s
}

func (s *scribe) Begin() {
	s.write(&Record{Kind: Start, Format: Format, Time: s.began})
	s.Flush()
}

func (s *scribe) Write(b *batch) {
	for i := range b.notes {
		s.note(b, &b.notes[i])
	}
	if b.missing > 0 {
		s.missing += b.missing
		s.write(&Record{Kind: Gap, Time: time.Now(), Missing: b.missing})
	}
}

// End writes the last line. Its error says what the file lacks.
func (s *scribe) End() error {
	s.leave("")
	if err := s.file.Close(); s.err == nil {
		s.err = err
	}
	switch {
	case s.err != nil:
		return fmt.Errorf("the trace is not complete: %w", s.err)
	case s.missing > 0:
		return fmt.Errorf("the trace is not complete: %d messages are missing, because they came faster than they could be written", s.missing)
	case s.turns > 1:
		return fmt.Errorf("the trace is not complete: its beginning is gone, as more than %s and %s hold", s.roll.name(), s.roll.aside())
	}
	return nil
}

// write writes a line, in another file if this one is full.
func (s *scribe) write(r *Record) {
	if s.roll != nil && s.room <= 0 && s.err == nil {
		s.turn()
	}
	s.put(r)
}

func (s *scribe) put(r *Record) {
	if s.err != nil {
		return
	}
	r.At = r.Time.Sub(s.began)
	s.line = r.Append(s.line[:0])
	s.room -= int64(len(s.line))
	_, s.err = s.out.Write(s.line)
}

// turn has the next line written in another file. Each of the two says where the
// other is; one that cannot be put aside says why it is the last.
func (s *scribe) turn() {
	if why := s.roll.blocked(); why != nil {
		why = fmt.Errorf("the file is full: %w", why)
		s.leave(why.Error())
		s.err = cmp.Or(s.err, why)
		return
	}
	s.leave("the file is full; " + s.roll.name() + " goes on")
	if s.err == nil {
		s.err = s.roll.turn()
	}
	s.turns++
	s.room = s.roll.most
	s.put(&Record{Kind: Start, Format: Format, Time: time.Now(), Why: "what was before is in " + s.roll.aside()})
}

// leave writes the last line of a file.
func (s *scribe) leave(why string) {
	s.put(&Record{Kind: End, Time: time.Now(), Missing: s.missing, Why: why})
	s.Flush()
}

func (s *scribe) Flush() {
	if s.err == nil {
		s.err = s.out.Flush()
	}
}

// note writes the line of one note.
func (s *scribe) note(b *batch, n *note) {
	w := n.wire
	r := Record{
		Kind: n.kind, Time: n.at, Server: w.server, Connection: w.number,
		Protocol: n.version, Era: string(mcp.EraOf(n.version)), Size: n.size,
	}
	if n.why != nil {
		r.Why = string(s.veil.Cover([]byte(n.why.Error())))
	}
	switch n.kind {
	case Opened:
		r.Transport = w.transport
	case Lost, Closed:
		w.asked = asked{}
	default:
		s.message(&r, b, n)
	}
	s.write(&r)
}

// droppedCap is what a line has of a message that another line has whole.
const droppedCap = 1 << 10

// message adds what a message says, without its secrets.
func (s *scribe) message(r *Record, b *batch, n *note) {
	text := b.of(n.text)
	if n.kind == Dropped {
		text = text[:min(len(text), droppedCap)]
	}
	cut := len(text) < n.size
	text = s.veil.message(text, cut)
	r.Direction = Received
	if n.sent {
		r.Direction = Sent
	}
	var broken error
	if !cut {
		r.Message, broken = jsontext.AppendRaw(nil, text)
	}
	if cut || broken != nil {
		r.Message, r.Text = nil, string(text)
	}
	if n.kind == Dropped {
		return
	}
	r.read(text, cut)
	if r.Kind == Response && r.ID == nil && cut {
		r.ID = lastID(b.of(n.tail))
	}
	if broken != nil {
		r.Kind = Malformed
	}
	n.wire.asked.match(r)
}

// read finds out what a message is. One that is cut may have its id, or even its
// method, where it cannot be seen; without a method it is taken for an answer,
// because these are what is long.
func (r *Record) read(msg []byte, cut bool) {
	in := jsontext.Read(msg)
	switch in.Kind() {
	case '[':
		r.Kind = Batch
		return
	case '{':
	default:
		r.Kind = Malformed
		return
	}
	outcome := false
	for name := range in.Object() {
		switch string(name) {
		case "method":
			r.Method = clip(in.String())
		case "id":
			r.ID = token(in.Raw())
		case "result":
			outcome = true
		case "error":
			outcome, r.Failed = true, true
		}
	}
	switch {
	case r.Method != "" && r.ID != nil:
		r.Kind = Request
	case r.Method != "":
		r.Kind = Notification
	case outcome || cut:
		r.Kind = Response
	default:
		r.Kind = Malformed
	}
}

// maxToken is the longest method or id that is taken for one.
const maxToken = 1 << 10

// token returns an id if it can be one.
func token(raw []byte) []byte {
	if len(raw) > maxToken || jsontext.Valid(raw, 1) != nil {
		return nil
	}
	return raw
}

func clip(text string) string { return text[:min(len(text), maxToken)] }

// idAtEnd fits the end of an object whose id is its last member but for such as
// "jsonrpc". There is nowhere else that such an end can be: an inner object would
// be followed by another bracket, and in a string the quotes would be escaped.
var idAtEnd = regexp.MustCompile(`[,{]\s*"id"\s*:\s*(-?[0-9]+|"(?:[^"\\]|\\.)*")\s*(?:,\s*"[a-z]+"\s*:\s*"[^"\\]*"\s*)*}\s*$`)

func lastID(tail []byte) []byte {
	if m := idAtEnd.FindSubmatch(tail); m != nil {
		return m[1]
	}
	return nil
}

// asked are the requests of a connection that have no answer yet. It forgets the
// oldest where there are too many: those that nobody answers stay for ever.
type asked struct {
	open  map[string]question
	order []string // the keys, the oldest first; those that were answered too
}

type question struct {
	method string
	at     time.Time
}

const maxAsked = 10_000

// match remembers a request, and tells a response what it answers.
func (a *asked) match(r *Record) {
	switch r.Kind {
	case Request:
		a.add(r.Direction+string(r.ID), question{r.Method, r.Time})
	case Response:
		back := Sent
		if r.Direction == Sent {
			back = Received
		}
		key := back + string(r.ID)
		if q, found := a.open[key]; found {
			r.Method, r.Took, r.Timed = q.method, r.Time.Sub(q.at), true
			delete(a.open, key)
		}
	}
}

func (a *asked) add(key string, q question) {
	if a.open == nil {
		a.open = make(map[string]question)
	}
	a.open[key] = q
	if a.order = append(a.order, key); len(a.order) < maxAsked {
		return
	}
	for _, old := range a.order[:maxAsked/2] {
		delete(a.open, old)
	}
	a.order = append(a.order[:0], a.order[maxAsked/2:]...)
}
