package trace

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/jsonl"
	"github.com/wharf-mcp/wharf/host/internal/strictjson"
)

// maxLine is the longest line that is read, in bytes: far more than a [Recorder] writes.
const maxLine = 4 << 20

var (
	errForeign = errors.New("it is not a line of a trace")
	errLong    = errors.New("it is longer than a line of a trace can be")
)

// LineError is the error for a line that is not a line of a trace.
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

// Read reads what a [Recorder] has written, and keeps one line at a time in memory. For
// a line that is not of a trace it yields a [*LineError], and continues behind it. Any
// other error is that of in, and ends the sequence. Blank lines are skipped.
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

// parse reads a line, of any bytes. The record aliases the line. Members that it does not
// know are ignored, so that later versions may add some.
func parse(line []byte) (Record, error) {
	var r Record
	if err := strictjson.Valid(line, strictjson.DefaultDepth+1); err != nil {
		return r, fmt.Errorf("%w: %w", errForeign, err)
	}
	in := strictjson.Read(line)
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

func (r *Record) member(name string, in *strictjson.Reader) {
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

// micros returns a duration of so many microseconds, and 0 where it is out of range.
func micros(n int64) time.Duration {
	const most = int64(1<<63-1) / int64(time.Microsecond)
	if n < 0 || n > most {
		return 0
	}
	return time.Duration(n) * time.Microsecond
}

// check tells a line of a trace from other JSON.
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
