package capability

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// rawConn is the door to the descriptor under a conduit.
type rawConn = syscall.RawConn

// pipeMax is what a pipe is grown to, and the most that one can still hold
// when everybody who wrote to it is dead.
const pipeMax = 1 << 20

// growAfter is how many reads in a row have to fill the chunk before the pipe
// is grown: the pages of all pipes of a user are counted together, so a small
// talker must not have any of them.
const growAfter = 4

// inlet is the read side of a pipe or socket. One goroutine reads it; cut may
// be called by another.
type inlet struct {
	from    conduit
	raw     rawConn
	full    int         // reads in a row that filled the buffer
	cutting atomic.Bool // set by cut
	left    int         // what may still be read after cut
	lull
}

func newInlet(from conduit) (*inlet, error) {
	raw, err := from.SyscallConn()
	return &inlet{from: from, raw: raw, left: pipeMax}, err
}

// readChunk reads what has come into a chunk of the pool, which the caller gives
// back.
func readChunk(from io.Reader) (buf *Chunk, n int, err error) {
	if in, ok := from.(*inlet); ok {
		return in.next()
	}
	buf = GetChunk()
	n, err = from.Read(buf[:])
	return buf, n, err
}

// next reads what has come, at least one byte.
func (in *inlet) next() (buf *Chunk, n int, err error) {
	if !in.cutting.Load() {
		buf, n, err = in.await()
		in.measure(n == ChunkSize)
		if err == nil || errors.Is(err, io.EOF) || !in.cutting.Load() {
			return buf, n, err
		}
		PutChunk(buf)
	}
	buf = GetChunk()
	n, err = in.remains(buf[:])
	return buf, n, err
}

// Read is next, for those who have a buffer of their own.
func (in *inlet) Read(p []byte) (int, error) {
	if !in.cutting.Load() {
		n, err := in.from.Read(p)
		in.measure(n == len(p))
		if err == nil || errors.Is(err, io.EOF) || !in.cutting.Load() {
			return n, err
		}
	}
	return in.remains(p)
}

// pour reads to the end. What w does not take is lost, and read all the same:
// whoever writes here must not be held up.
func (in *inlet) pour(w io.Writer) {
	for {
		buf, n, err := in.next()
		w.Write(buf[:n])
		PutChunk(buf)
		if err != nil {
			return
		}
	}
}

// cut says that those who should write are dead. What they left in the pipe is
// still read, but nobody is waited for: a process that left the group may hold
// the pipe open for ever, and write to it for ever.
func (in *inlet) cut() {
	in.cutting.Store(true)
	if in.from.SetReadDeadline(time.Unix(1, 0)) != nil {
		in.from.Close() // no deadlines here; this wakes the reader as well
	}
}

// remains reads what is there without waiting, up to what a pipe can hold. The
// deadline that wakes the reader comes after the word that there is to be one, so
// it may fall between the two lines here; it is taken back then once more.
func (in *inlet) remains(p []byte) (n int, err error) {
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

// measure grows the pipe of a peer that keeps writing more than a chunk holds.
func (in *inlet) measure(filled bool) {
	if !filled {
		in.full = 0
		return
	}
	if in.full++; in.full == growAfter {
		growPipe(in.raw)
	}
}
