package trace

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/wharf-mcp/wharf/host/internal/jsonl"
)

// maxLine is the longest line that is read, in bytes: far more than a [Recorder] writes.
const maxLine = 4 << 20

var (
	errForeign = errors.New("it is not a line of a trace")
	errLong    = errors.New("it is longer than a line of a trace can be")
)

// LineError says that a line is not a line of a trace.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// Line is a line of a trace file.
type Line struct {
	Record
	Raw []byte // as it is written, without the line break; valid until the next line is read
}

// Read reads what a [Recorder] has written, and keeps one line at a time in memory. For a line
// that is not of a trace it yields a [*LineError], and goes on with the next. Any other error
// comes from in, and ends the sequence. Read skips blank lines.
func Read(in io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		lines := jsonl.NewLines(in, maxLine)
		for {
			raw, err := lines.Next()
			var r Record
			switch {
			case errors.Is(err, io.EOF):
				return
			case errors.Is(err, jsonl.ErrTooLong):
				err = &LineError{lines.Number, errLong}
			case err != nil:
				yield(Line{}, err)
				return
			case len(raw) == 0:
				continue
			default:
				if r, err = parse(raw); err != nil {
					err = &LineError{lines.Number, err}
				}
			}
			if !yield(Line{r, raw}, err) {
				return
			}
		}
	}
}

// parse reads a line of any bytes. The record aliases the line. Unknown members are ignored, so
// that later versions may add some.
func parse(line []byte) (r Record, err error) {
	if err := jsonl.Read(line, r.members); err != nil {
		return r, fmt.Errorf("%w: %w", errForeign, err)
	}
	return r, r.check()
}

// check refuses JSON that is not a line of a trace.
func (r *Record) check() error {
	switch {
	case !slices.Contains(kinds, r.Kind):
		return fmt.Errorf("%w: its kind is %.40q", errForeign, r.Kind)
	case r.Time.IsZero():
		return fmt.Errorf("%w: it has no time", errForeign)
	case r.Kind == Start && r.Format != Format:
		return fmt.Errorf("its format is %.40q; expected %s", r.Format, Format)
	case r.IsMessage() && r.Direction != Sent && r.Direction != Received:
		return fmt.Errorf("%w: it has no direction", errForeign)
	}
	return nil
}
