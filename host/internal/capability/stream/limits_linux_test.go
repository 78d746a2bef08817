package stream

import (
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
)

// drainCount is what a writer tells.
type drainCount struct{ drains int }

func (d *drainCount) drained()    { d.drains++ }
func (d *drainCount) stalled()    {}
func (d *drainCount) broke(error) {}

// A writer tells once that it has drained to the low-water mark, if a flush left more.
func TestDrainedAtTheMark(t *testing.T) {
	var heard drainCount
	o := &writer{draining: true} // as if its goroutine ran
	o.init(&heard, &capability.Limits{LowWater: 10})
	for n, step := range []struct{ writes, sends, drains int }{
		{10, 1, 0}, // at the mark, and not above it
		{0, 9, 0},
		{11, 0, 0},
		{0, 1, 1},
		{0, 1, 1},
		{2, 0, 1},
		{0, 3, 2},
	} {
		o.write(make([]byte, step.writes), false)
		o.flush()
		if o.sent(step.sends); heard.drains != step.drains {
			t.Errorf("step %d: drained %d times with %d queued", n, heard.drains, o.queued())
		}
	}
}

func TestBuffersThatAreKept(t *testing.T) {
	for size, want := range map[int]bool{keepMax / 2: true, keepMax/2 + 1: false} {
		o := &writer{backlog: make([]byte, 0, keepMax/2), spare: make([]byte, 0, size)}
		if o.take(); (o.backlog != nil) != want || (o.spare != nil) != want {
			t.Errorf("with %d bytes more, kept: %v", size, o.backlog != nil)
		}
	}
}

// Small pieces are copied while there is room for them; all others are only named.
func TestWhatIsCopied(t *testing.T) {
	var o writer
	small, large := make([]byte, smallMax), make([]byte, smallMax+1)
	for range smallCap / smallMax {
		o.write(small, false)
	}
	if len(o.segs) != 1 || len(o.segs[0]) != smallCap || &o.segs[0][0] == &small[0] {
		t.Errorf("%d segments", len(o.segs))
	}
	o.write(small[:1], false)
	o.write(large, false)
	if len(o.segs) != 3 || &o.segs[1][0] != &small[0] || &o.segs[2][0] != &large[0] {
		t.Errorf("%d segments", len(o.segs))
	}
}

// What only a request over HTTP has does not apply to a stream.
func TestOpenOfAStreamIsPlain(t *testing.T) {
	serve := Opener(func(h *Duplex) {})
	for _, r := range []abi.OpenRequest{
		{Method: "GET"}, {Target: "/x"}, {Headers: []abi.Pair{{Key: "a", Value: "b"}}}, {Flags: abi.Upgrade},
	} {
		if _, status, err := serve.Open(captest.Opening(t, captest.NewRecorder()), &r); status != abi.Malformed || err == nil {
			t.Errorf("%+v: %v, %v", r, status, err)
		}
	}
}

func pipeSize(t *testing.T, fd int) int {
	t.Helper()
	n, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A pipe is grown when so many reads in a row have filled a chunk, and not before.
func TestAPipeThatIsFullAgainAndAgainIsGrown(t *testing.T) {
	for name, read := range map[string]func(in *Reader) error{
		"next": func(in *Reader) error {
			buf, _, err := in.next()
			capability.PutChunk(buf)
			return err
		},
		"Read": func(in *Reader) error {
			_, err := in.Read(make([]byte, capability.ChunkSize))
			return err
		},
	} {
		in, fd, write := pipe(t)
		was := pipeSize(t, fd)
		for n, size := range []int{1, 1, 1, 0, 1, 1, 1, 1} { // chunks; 0 is a part of one
			unix.Write(write, make([]byte, max(size*capability.ChunkSize, 10)))
			if err := read(in); err != nil {
				t.Fatal(err)
			}
			if grown := pipeSize(t, fd) != was; grown != (n == 7) {
				t.Errorf("%s: after read %d, grown: %v", name, n, grown)
			}
		}
		unix.Close(write)
	}
}

func TestASocketIsNotGrown(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[1])
	f := os.NewFile(uintptr(fds[0]), "socket")
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if growPipe(raw) {
		t.Error("a socket counts as a pipe that was grown")
	}
}

// cutting cuts its reader when a read has just been done.
type cutting struct {
	rawConn
	in *Reader
}

func (c *cutting) Read(f func(uintptr) bool) error {
	err := c.rawConn.Read(f)
	c.in.cut.Store(true)
	return err
}

// What was read as the reader was cut is not lost.
func TestWhatIsReadAsTheCutComes(t *testing.T) {
	in, _, write := pipe(t)
	unix.Write(write, []byte("last words"))
	unix.Close(write)
	in.raw = &cutting{in.raw, in}
	if said, err := io.ReadAll(in); err != nil || string(said) != "last words" {
		t.Errorf("read %q, %v", said, err)
	}
}

// Wait returns when the pipe has taken something, and not before.
func TestWaitForAFullPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	out, err := NewFDOutput(w, w.Close, w.Close)
	if err != nil {
		t.Fatal(err)
	}
	piece := make([]byte, 4<<10)
	for n := 1; n > 0; {
		if n, err = out.Try([][]byte{piece}); err != nil {
			t.Fatal(err)
		}
	}
	took := make(chan int)
	go func() {
		n, _ := out.Wait(piece)
		took <- n
	}()
	if _, err := io.ReadFull(r, make([]byte, 64<<10)); err != nil {
		t.Fatal(err)
	}
	if n := <-took; n != len(piece) {
		t.Errorf("it took %d bytes", n)
	}
}
