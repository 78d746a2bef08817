//go:build linux || darwin

package stream

import (
	"io"

	"github.com/wharf-mcp/wharf/host/internal/capability"
	"golang.org/x/sys/unix"
)

// poll is how a reader waits: it asks first whether anything has come, and holds
// a chunk only while that is so. Of a hundred servers most say nothing.
type poll struct {
	buf *capability.Chunk // results of once
	n   int
	err error

	once func(fd uintptr) bool
}

// await waits until something has come, and reads it. buf is never nil.
func (in *Reader) await() (buf *capability.Chunk, n int, err error) {
	if in.once == nil {
		in.once = in.attempt
	}
	if in.raw.Read(in.once) != nil {
		// Closed, or past a deadline: Read returns the error that the callers know.
		buf = capability.GetChunk()
		n, err = in.from.Read(buf[:])
		return buf, n, err
	}
	buf, in.buf = in.buf, nil
	return buf, in.n, in.err
}

// attempt reads if there is something to read, and reports whether there was.
func (in *Reader) attempt(fd uintptr) bool {
	in.buf = capability.GetChunk()
	for {
		in.n, in.err = unix.Read(int(fd), in.buf[:])
		switch {
		case in.err == unix.EINTR:
			continue
		case in.err == unix.EAGAIN:
			capability.PutChunk(in.buf)
			in.buf = nil
			return false
		case in.err != nil:
			in.n = 0
		case in.n == 0:
			in.err = io.EOF
		}
		return true
	}
}

// readNow reads what has come already: 0 without an error means nothing has.
func readNow(raw rawConn, p []byte) (n int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	outer := raw.Read(func(fd uintptr) bool {
		n, err = again(unix.Read(int(fd), p))
		return true
	})
	if outer != nil {
		return 0, outer
	}
	return n, err
}
