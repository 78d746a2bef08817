package jsonl

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// ErrTooLong is the error for a line that is longer than a reader allows.
var ErrTooLong = errors.New("the line is too long")

// Lines reads lines of bounded length.
type Lines struct {
	Number int   // of the line that was read last, from 1
	Offset int64 // at which it begins

	end  int64 // of what was read
	in   *bufio.Reader
	line []byte
	most int
}

// NewLines returns a reader for lines of at most that many bytes.
func NewLines(in io.Reader, most int) *Lines {
	return &Lines{in: bufio.NewReaderSize(in, 64<<10), most: most}
}

// Next returns the next line without the white space at its end, and io.EOF after the last
// line. The line is valid until the next call. For a line that is too long it returns
// [ErrTooLong], and the next call goes on behind that line; any other error is that of the
// input.
func (l *Lines) Next() ([]byte, error) {
	l.line, l.Offset = l.line[:0], l.end
	long := false
	for {
		part, err := l.in.ReadSlice('\n')
		l.end += int64(len(part))
		if long = long || len(l.line)+len(part) > l.most; !long {
			l.line = append(l.line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && (!errors.Is(err, io.EOF) || len(l.line) == 0 && !long) {
			return nil, err
		}
		l.Number++
		if long {
			return nil, ErrTooLong
		}
		return bytes.TrimRight(l.line, " \r\n"), nil
	}
}
