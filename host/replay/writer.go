package replay

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/jsonl"
	"github.com/wharf-mcp/wharf/host/internal/redact"
)

// fileCap is the largest size of a recording in bytes, not counting its last lines.
const fileCap = 256 << 20

// writer redacts lines and writes them. It belongs to one goroutine.
type writer struct {
	out       *jsonl.Output
	secrets   *redact.Set
	redactors map[int]*redactor // by connection
	line      jsonl.Line
	room      int64 // bytes until the file is full
	full      bool
	cuts      int
}

func newWriter(w io.WriteCloser, secrets *redact.Set, most int64) *writer {
	return &writer{out: jsonl.NewOutput(w), secrets: secrets, redactors: make(map[int]*redactor), room: most}
}

func (w *writer) Begin() {
	w.out.Write(w.encode(&line{kind: kindStart, format: Format, at: time.Now()}))
	w.Flush()
}

func (w *writer) Write(b *jsonl.Batch[line]) {
	for i := range b.Entries {
		if w.full {
			return
		}
		w.redact(&b.Entries[i])
		w.add(&b.Entries[i])
	}
	const keep = 1 << 20
	if cap(w.line.Out) > keep {
		w.line.Out = nil
	}
}

func (w *writer) encode(o *line) []byte {
	if o.kind == kindFlow {
		return append(o.flow, '\n')
	}
	w.line.Begin(w.line.Out[:0])
	o.members(&w.line)
	return w.line.End()
}

func (w *writer) Flush() { w.out.Flush() }

// redact overwrites the secrets in a line.
func (w *writer) redact(o *line) {
	switch o.kind {
	case kindConnection:
		w.redactors[o.connection] = newRedactor(w.secrets)
	case kindEvent:
		w.redactors[o.connection].redact(o.step)
	case kindFlow: // it has no secrets
	default:
		delete(w.redactors, o.connection)
		why, _ := w.secrets.Mask([]byte(o.why))
		o.why = string(why)
	}
}

// add writes a line if there is room for it, and otherwise a cut that ends all connections.
func (w *writer) add(o *line) {
	text := w.encode(o)
	if o.kind != kindCut {
		w.room -= int64(len(text))
	}
	if w.room < 0 {
		w.full = true
		o = &line{kind: kindCut, why: "the file is as large as a recording gets"}
		text = w.encode(o)
	}
	if o.kind == kindCut {
		w.cuts++
	}
	w.out.Write(text)
}

var errCut = errors.New("more came than it takes; replaying it goes as far as it does")

// End writes the last line. Its error says what the file lacks.
func (w *writer) End() error {
	w.out.Write(w.encode(&line{kind: kindEnd}))
	w.Flush()
	w.out.Close()
	err := w.out.Err
	if err == nil && w.cuts > 0 {
		err = errCut
	}
	if err != nil {
		return fmt.Errorf("the recording is not complete: %w", err)
	}
	return nil
}
