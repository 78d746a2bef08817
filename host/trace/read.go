package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
)

// maxLine is the longest line that is read: far more than is ever written.
const maxLine = 4 << 20

var errLong = errors.New("it is longer than a line of a trace can be")

// LineError is a line that was stepped over.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }
func (e *LineError) Unwrap() error { return e.Err }

// Line is a line of a file: what it says, and how it is written.
type Line struct {
	Record
	Raw []byte // without the line break; valid until the next line is read
}

// Read reads a trace line by line, and keeps no more than one. A line that is
// none of a trace comes with a [*LineError], and reading goes on behind it; any
// other error is that of in, and the last. Blank lines are nothing.
func Read(in io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		lines := reader{in: bufio.NewReaderSize(in, 64<<10)}
		for {
			raw, err := lines.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil && !errors.Is(err, errLong) {
				yield(Line{}, err)
				return
			}
			if len(raw) == 0 && err == nil {
				continue
			}
			var r Record
			if err == nil {
				r, err = ParseLine(raw)
			}
			if err != nil {
				err = &LineError{lines.number, err}
			}
			if !yield(Line{r, raw}, err) {
				return
			}
		}
	}
}

// reader takes lines apart. One that is too long is passed over.
type reader struct {
	in     *bufio.Reader
	line   []byte
	number int
}

func (r *reader) next() ([]byte, error) {
	r.line = r.line[:0]
	long := false
	for {
		part, err := r.in.ReadSlice('\n')
		if long = long || len(r.line)+len(part) > maxLine; !long {
			r.line = append(r.line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (!errors.Is(err, io.EOF) || len(r.line) == 0 && !long) {
			return nil, err
		}
		r.number++
		if long {
			return nil, errLong
		}
		return trimEnd(r.line), nil
	}
}

// trimEnd takes the line break off, and the white space of editors.
func trimEnd(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r' || line[len(line)-1] == ' ') {
		line = line[:len(line)-1]
	}
	return line
}
