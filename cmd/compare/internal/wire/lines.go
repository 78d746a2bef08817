// Package wire takes a stream of messages apart: into lines, and a line into the
// members of its object.
//
// The fast server and the floor use it, so it does as little as possible, and checks
// nothing.
package wire

import (
	"bytes"
	"io"
)

// chunk is the free space in bytes that every read gets: as much as a pipe holds.
const chunk = 64 << 10

// Lines cuts a stream into lines. The zero value is ready.
type Lines struct {
	buf   []byte
	start int // of the line that is not complete yet
	seen  int // buf[start:seen] holds no newline
	end   int // of what was read
}

// Fill makes one read from r. Lines that Next returned before are no longer valid.
func (l *Lines) Fill(r io.Reader) error {
	copy(l.buf, l.buf[l.start:l.end])
	l.seen -= l.start
	l.end -= l.start
	l.start = 0
	if len(l.buf)-l.end < chunk { // a large line doubles the buffer until it fits
		l.buf = append(l.buf, make([]byte, max(chunk, len(l.buf)))...)
	}
	n, err := r.Read(l.buf[l.end:])
	l.end += n
	return err
}

// Next returns the next complete line without its newline. It is valid until
// the next Fill.
func (l *Lines) Next() (line []byte, ok bool) {
	n := bytes.IndexByte(l.buf[l.seen:l.end], '\n')
	if n < 0 {
		l.seen = l.end
		return nil, false
	}
	line = l.buf[l.start : l.seen+n]
	l.seen += n + 1
	l.start = l.seen
	return line, true
}
