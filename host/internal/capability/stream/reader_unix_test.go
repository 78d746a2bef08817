//go:build linux || darwin

package stream

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// pipe returns the ends of a pipe, of which the first does not block.
func pipe(t *testing.T) (in *Reader, read, write int) {
	t.Helper()
	var ends [2]int
	if err := unix.Pipe(ends[:]); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(ends[0], true); err != nil {
		t.Fatal(err)
	}
	from := os.NewFile(uintptr(ends[0]), "pipe")
	t.Cleanup(func() { from.Close() })
	in, err := NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	return in, ends[0], ends[1]
}

// A hundred servers that say nothing would otherwise hold a chunk each.
func TestNoChunkIsHeldWhileNothingComes(t *testing.T) {
	in, read, write := pipe(t)
	if in.attempt(uintptr(read)) || in.buf != nil {
		t.Errorf("waits with a chunk of %d bytes", len(in.buf))
	}
	if _, err := unix.Write(write, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	if !in.attempt(uintptr(read)) || in.n != 5 || !bytes.Equal(in.buf[:5], []byte("hello")) || in.err != nil {
		t.Errorf("read %d bytes, %v", in.n, in.err)
	}
	unix.Close(write)
	if _, n, err := in.poll.await(in.from, in.raw); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %d bytes, %v", n, err)
	}
	in.from.Close()
	if buf, n, err := in.poll.await(in.from, in.raw); buf == nil || n != 0 || !errors.Is(err, os.ErrClosed) {
		t.Errorf("closed: %d bytes, %v", n, err)
	}
}

// An writer has a place for small pieces only between a write and its flush.
func TestAnIdleOutletHoldsNoDesk(t *testing.T) {
	var o writer
	o.out = closedOutput{}
	o.write([]byte("small"), false)
	if o.small == nil {
		t.Fatal("no desk to write at: this test tests nothing")
	}
	o.flush()
	if o.small != nil || o.smallBuf != nil {
		t.Error("it keeps its desk")
	}
}

// closedOutput is a lane that takes everything.
type closedOutput struct{ Output }

func (closedOutput) Try(segs [][]byte) (n int, err error) {
	for _, s := range segs {
		n += len(s)
	}
	return n, nil
}
