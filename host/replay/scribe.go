package replay

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/redact"
)

// fileCap is how large a recording gets, but for its last lines.
const fileCap = 256 << 20

// scribe makes lines of notes and writes them. It belongs to one goroutine.
type scribe struct {
	file   io.WriteCloser
	out    *bufio.Writer
	known  *redact.Set
	cloaks map[int]*cloak // by connection
	line   object
	room   int64 // bytes until the file is full
	full   bool
	cuts   int
	err    error // the first of the file; nothing is written after it
}

func newScribe(w io.WriteCloser, known *redact.Set, most int64) *scribe {
	return &scribe{
		file: w, out: bufio.NewWriterSize(w, 64<<10), known: known,
		cloaks: make(map[int]*cloak), room: most,
	}
}

func (s *scribe) Begin() {
	s.write(s.line.start(time.Now()))
	s.Flush()
}

func (s *scribe) Write(b *batch) {
	for i := range b.notes {
		if s.full {
			return
		}
		s.note(&b.notes[i])
	}
}

func (s *scribe) note(n *note) {
	switch {
	case n.opening != nil:
		s.cloaks[n.connection] = newCloak(s.known)
		s.add(s.line.opening(n.opening))
	case n.step != nil:
		s.cloaks[n.connection].hide(n.step)
		s.add(s.line.step(n.step))
	case n.cut != "":
		s.cuts++
		delete(s.cloaks, n.connection)
		s.write(s.line.note(kindCut, n.connection, n.cut))
	default:
		delete(s.cloaks, n.connection)
		why, _ := once(s.known, []byte(n.ended))
		s.add(s.line.note(kindEnded, n.connection, string(why)))
	}
	const keep = 1 << 20
	if cap(s.line) > keep {
		s.line = nil
	}
}

// add writes a line, if there is room for it, and otherwise that there is none.
func (s *scribe) add(line []byte) {
	if s.room -= int64(len(line)); s.room >= 0 {
		s.write(line)
		return
	}
	s.full = true
	s.cuts++
	s.write(s.line.note(kindCut, 0, "the file is as large as a recording gets"))
}

func (s *scribe) write(line []byte) {
	if s.err == nil {
		_, s.err = s.out.Write(line)
	}
}

func (s *scribe) Flush() {
	if s.err == nil {
		s.err = s.out.Flush()
	}
}

var errCut = errors.New("more came than it takes; replaying it goes as far as it does")

// End writes the last line. Its error says what the file lacks.
func (s *scribe) End() error {
	s.write(s.line.note(kindEnd, 0, ""))
	s.Flush()
	if err := s.file.Close(); s.err == nil {
		s.err = err
	}
	if s.err == nil && s.cuts > 0 {
		s.err = errCut
	}
	if s.err != nil {
		return fmt.Errorf("the recording is not complete: %w", s.err)
	}
	return nil
}
