package stream

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/wharf-mcp/wharf/host/internal/capability"
)

// growAfter is how many reads in a row have to fill the chunk before the pipe is grown. The system
// counts the pages of all pipes of a user together, so a server that writes little must not take
// more of them.
const growAfter = 4

// Reader is the read side of a pipe or socket. One goroutine reads it; Cut may
// be called by another.
type Reader struct {
	from FDConn
	raw  rawConn
	full int         // reads in a row that filled the buffer
	cut  atomic.Bool // set by Cut
	left int         // bytes that may still be read after Cut
	poll
}

// NewReader returns the reader of a pipe or socket.
func NewReader(from FDConn) (*Reader, error) {
	raw, err := from.SyscallConn()
	return &Reader{from: from, raw: raw, left: PipeMax}, err
}

// next waits until something has come, and reads at least one byte.
func (in *Reader) next() (buf *capability.Chunk, n int, err error) {
	if !in.cut.Load() {
		buf, n, err = in.poll.await(in.from, in.raw)
		in.growIfFull(n == capability.ChunkSize)
		if err == nil || errors.Is(err, io.EOF) || !in.cut.Load() {
			return buf, n, err
		}
		capability.PutChunk(buf)
	}
	buf = capability.GetChunk()
	n, err = in.readRest(buf[:])
	return buf, n, err
}

// Read does what next does, but into a buffer of the caller.
func (in *Reader) Read(p []byte) (int, error) {
	if !in.cut.Load() {
		n, err := in.from.Read(p)
		in.growIfFull(n == len(p))
		if err == nil || errors.Is(err, io.EOF) || !in.cut.Load() {
			return n, err
		}
	}
	return in.readRest(p)
}

// Close closes the pipe or socket.
func (in *Reader) Close() error { return in.from.Close() }

// Cut tells the reader that the writers are dead. It still reads what they left in the
// pipe, but does not wait for more: a process that left the group may hold the pipe open
// for ever, and write to it for ever.
func (in *Reader) Cut() {
	in.cut.Store(true)
	if in.from.SetReadDeadline(time.Unix(1, 0)) != nil {
		in.from.Close() // no deadlines here; this wakes the reader as well
	}
}

// readRest reads without waiting, up to what a pipe can hold. Cut sets the deadline after the flag,
// so the deadline may come after readRest has removed it. Then readRest removes it once more.
func (in *Reader) readRest(p []byte) (n int, err error) {
	for again := true; again; again = errors.Is(err, os.ErrDeadlineExceeded) {
		in.from.SetReadDeadline(time.Time{})
		n, err = readNow(in.raw, p[:min(len(p), in.left)])
	}
	in.left -= n
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

// growIfFull grows the pipe when growAfter reads in a row have filled their chunk.
func (in *Reader) growIfFull(filled bool) {
	if !filled {
		in.full = 0
		return
	}
	if in.full++; in.full == growAfter {
		growPipe(in.raw)
	}
}
