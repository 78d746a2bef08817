//go:build linux || darwin

package stream

import (
	"io"

	"github.com/wharf-mcp/wharf/host/internal/capability"
	"golang.org/x/sys/unix"
)

// poll is how a reader waits: it takes a chunk only when there is something to read, so the reader of a
// silent server holds none.
type poll struct {
	buf *capability.Chunk // results of once
	n   int
	err error

	once func(fd uintptr) bool
}

// await waits until something has come, and reads it. buf is never nil.
func (p *poll) await(from FDConn, raw rawConn) (buf *capability.Chunk, n int, err error) {
	if p.once == nil {
		p.once = p.attempt
	}
	if raw.Read(p.once) != nil {
		// Closed, or past a deadline: Read returns the error that the callers know.
		buf = capability.GetChunk()
		n, err = from.Read(buf[:])
		return buf, n, err
	}
	buf, p.buf = p.buf, nil
	return buf, p.n, p.err
}

// attempt reads if there is something to read, and reports whether there was.
func (p *poll) attempt(fd uintptr) bool {
	p.buf = capability.GetChunk()
	for {
		p.n, p.err = unix.Read(int(fd), p.buf[:])
		switch {
		case p.err == unix.EINTR:
			continue
		case p.err == unix.EAGAIN:
			capability.PutChunk(p.buf)
			p.buf = nil
			return false
		case p.err != nil:
			p.n = 0
		case p.n == 0:
			p.err = io.EOF
		}
		return true
	}
}

// readNow reads what has come already. 0 without an error means that nothing has come.
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
