package replay

import (
	"errors"
	"fmt"
	"io"

	"github.com/wharf-mcp/wharf/host/internal/jsonl"
)

// maxLine is the longest line that is read, in bytes: more than a [Recorder] writes.
const maxLine = 64 << 20

// FileError says what is wrong with a recording, and in which line.
type FileError struct {
	Line int // from 1; 0 for the whole file
	Err  error
}

func (e *FileError) Error() string {
	if e.Line == 0 {
		return e.Err.Error()
	}
	return fmt.Sprintf("line %d: %v", e.Line, e.Err)
}

func (e *FileError) Unwrap() error { return e.Err }

var (
	errEmpty = errors.New("it is empty; expected a file that --record has written")
	errLong  = errors.New("it is longer than a line of a recording can be")
)

// next returns the next line of a recording of any bytes, or io.EOF after the last.
func next(in *jsonl.Lines) (*line, error) {
	text, err := in.Next()
	switch {
	case errors.Is(err, jsonl.ErrTooLong):
		return nil, &FileError{in.Number, errLong}
	case errors.Is(err, io.EOF) && in.Number == 0:
		return nil, &FileError{0, errEmpty}
	case err != nil:
		return nil, err
	}
	o, err := parse(text)
	if err == nil && (in.Number == 1) != (o.kind == kindStart) {
		err = errForeign
	}
	if err != nil {
		return nil, &FileError{in.Number, err}
	}
	return o, nil
}
