package replay

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/jsonl"
	"github.com/wharf-mcp/wharf/host/internal/redact"
)

// fileCap is how large a recording gets, apart from its last lines.
const fileCap = 256 << 20

// writer makes lines of entries and writes them. It belongs to one goroutine.
type writer struct {
	out       *jsonl.Output
	secrets   *redact.Set
	redactors map[int]*redactor // by connection
	line      line
	room      int64 // bytes until the file is full
	full      bool
	cuts      int
}

func newWriter(w io.WriteCloser, secrets *redact.Set, most int64) *writer {
	return &writer{out: jsonl.NewOutput(w), secrets: secrets, redactors: make(map[int]*redactor), room: most}
}

func (w *writer) Begin() {
	w.out.Write(w.line.start(time.Now()))
	w.Flush()
}

func (w *writer) Write(b *batch) {
	for i := range b.entries {
		if w.full {
			return
		}
		w.entry(&b.entries[i])
	}
}

func (w *writer) Flush() { w.out.Flush() }

func (w *writer) entry(e *entry) {
	switch {
	case e.opening != nil:
		w.redactors[e.connection] = newRedactor(w.secrets)
		w.add(w.line.opening(e.opening))
	case e.step != nil:
		w.redactors[e.connection].redact(e.step)
		w.add(w.line.step(e.step))
	case e.cut != "":
		w.cuts++
		delete(w.redactors, e.connection)
		w.out.Write(w.line.reason(kindCut, e.connection, e.cut))
	default:
		delete(w.redactors, e.connection)
		why, _ := w.secrets.Mask([]byte(e.ended))
		w.add(w.line.reason(kindEnded, e.connection, string(why)))
	}
	const keep = 1 << 20
	if cap(w.line.Object) > keep {
		w.line.Object = nil
	}
}

// add writes a line if there is room for it, and otherwise a cut of all connections.
func (w *writer) add(line []byte) {
	if w.room -= int64(len(line)); w.room >= 0 {
		w.out.Write(line)
		return
	}
	w.full = true
	w.cuts++
	w.out.Write(w.line.reason(kindCut, 0, "the file is as large as a recording gets"))
}

var errCut = errors.New("more came than it takes; replaying it goes as far as it does")

// End writes the last line. Its error says what the file lacks.
func (w *writer) End() error {
	w.out.Write(w.line.reason(kindEnd, 0, ""))
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
