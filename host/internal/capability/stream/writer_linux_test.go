package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/wharf-mcp/wharf/abi"
	"github.com/wharf-mcp/wharf/host/internal/capability"
	"github.com/wharf-mcp/wharf/host/internal/capability/captest"
	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"golang.org/x/sys/unix"
)

// pipedOutlet is a writer that writes to a pipe, of which the test reads the
// other end. In a pipe of packets one write is one packet.
func pipedOutlet(t testing.TB, flags int, sink hostio.Sink) (*Duplex, *os.File) {
	t.Helper()
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK|flags); err != nil {
		t.Fatal(err)
	}
	r, w := os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
	h := New(captest.Opening(t, sink), nil)
	p, err := NewFDOutput(w, w.Close, w.Close)
	if err != nil {
		t.Fatal(err)
	}
	h.Attach(p, "its stdin")
	t.Cleanup(func() {
		h.writer.close()
		h.Cancel(nil)
		r.Close()
	})
	return h, r
}

func TestAMessageIsOneWrite(t *testing.T) {
	h, r := pipedOutlet(t, syscall.O_DIRECT, captest.NewRecorder())
	for _, size := range []int{1, 100, smallMax, smallMax + 1, 4000} {
		body := bytes.Repeat([]byte("x"), size)
		h.Write(body, false)
		h.Write([]byte("\n"), false)
		h.Flush()
		buf := make([]byte, 64<<10)
		n, err := r.Read(buf)
		if string(buf[:n]) != string(body)+"\n" || err != nil {
			t.Errorf("%d bytes and a newline were not one write: %d came, %v", size, n, err)
		}
	}
}

func TestSmallPiecesArePutTogether(t *testing.T) {
	for pieces, segments := range map[int]int{3000: 1, 9000: 9000} {
		h, r := pipedOutlet(t, 0, captest.NewRecorder())
		var want []byte
		for i := range pieces {
			piece := bytes.Repeat([]byte{byte(i)}, i%9)
			want = append(want, piece...)
			h.Write(piece, false)
		}
		if n := len(h.writer.segs); n > segments {
			t.Errorf("%d segments for %d pieces", n, pieces)
		}
		h.Flush()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d pieces came out otherwise, %v", pieces, err)
		}
	}
}

func TestWritingAMessageAllocatesNothing(t *testing.T) {
	h, r := pipedOutlet(t, 0, captest.NewRecorder())
	newline := []byte("\n")
	buf := make([]byte, 64<<10)
	for _, size := range []int{100, 10_000} {
		body := make([]byte, size)
		allocs := testing.AllocsPerRun(100, func() {
			h.Write(body, false)
			h.Write(newline, false)
			h.Flush()
			r.Read(buf)
		})
		if allocs != 0 {
			t.Errorf("%v allocations for a message of %d bytes", allocs, size)
		}
	}
}

func TestTheBytesOfAFlushAreTheCallersAgain(t *testing.T) {
	h, r := pipedOutlet(t, 0, captest.NewRecorder())
	body := bytes.Repeat([]byte("a"), 3<<20)
	h.Write(body, true)
	h.Flush()
	if h.Queued() == 0 {
		t.Fatal("the pipe took it all, nothing had to be kept")
	}
	for i := range body {
		body[i] = 'z'
	}
	got, err := io.ReadAll(r)
	if err != nil || len(got) != len(body) || bytes.IndexByte(got, 'z') >= 0 {
		t.Errorf("%d bytes came, %v; changed ones among them: %v", len(got), err, bytes.IndexByte(got, 'z') >= 0)
	}
}

func TestALargeMessageGrowsThePipeAndASmallOneDoesNot(t *testing.T) {
	h, r := pipedOutlet(t, 0, captest.NewRecorder())
	size := func() int {
		n, err := unix.FcntlInt(r.Fd(), unix.F_GETPIPE_SZ, 0)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	h.Write(make([]byte, 60<<10), false)
	h.Flush()
	if size() != 64<<10 || h.Queued() != 0 {
		t.Errorf("the pipe has %d bytes, %d are queued", size(), h.Queued())
	}
	h.Write(make([]byte, 500<<10), false)
	h.Flush()
	if size() != PipeMax || h.Queued() != 0 {
		t.Errorf("the pipe has %d bytes, %d are queued", size(), h.Queued())
	}
}

func TestWhatIsWrittenAfterTheEndIsDropped(t *testing.T) {
	h, r := pipedOutlet(t, 0, captest.NewRecorder())
	h.Write([]byte("all"), true)
	h.Write([]byte("late"), false)
	h.Flush()
	h.Write([]byte("later"), true)
	h.Flush()
	if got, err := io.ReadAll(r); string(got) != "all" || err != nil || h.Queued() != 0 {
		t.Errorf("got %q, %v; Queued is %d", got, err, h.Queued())
	}
}

func TestDrainedDoesNotWaitBehindData(t *testing.T) {
	rec := captest.NewRecorder()
	rec.HoldAt = "data"
	h, r := pipedOutlet(t, 0, rec)
	h.Events.AllowDrained()
	said := make(chan struct{})
	go func() {
		defer close(said)
		h.Events.Data([]byte("held"), false)
	}()
	rec.Until(func() bool { return rec.InCall })
	h.Write(make([]byte, 4<<20), true)
	h.Flush()
	if n, err := io.Copy(io.Discard, r); n != 4<<20 || err != nil {
		t.Errorf("%d bytes came while Data was held, %v", n, err)
	}
	close(rec.Release)
	<-said
	rec.UntilWord("drained")
	captest.WantOrder(t, rec, "data drained")
}

// What the dead can have left in a pipe is no more than a pipe holds. Who
// still writes to it then is not waited for.
func TestAnInletThatIsCutComesToAnEnd(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	in, err := NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	in.Cut()
	piece, total := make([]byte, capability.ChunkSize), 0
	for {
		w.Write(piece)
		n, err := in.Read(piece)
		if total += n; err == io.EOF {
			break
		}
		if err != nil || total > PipeMax {
			t.Fatalf("%d bytes came, %v", total, err)
		}
	}
	if total != PipeMax {
		t.Errorf("%d bytes came", total)
	}
}

// lateCut is a pipe whose deadline comes when its reader has just taken it back:
// the one that cuts a reader says so first, and may stand still before the deadline is set.
type lateCut struct {
	*os.File
	late bool
}

func (f *lateCut) SetReadDeadline(at time.Time) error {
	if at.IsZero() && f.late {
		f.late = false
		at = time.Unix(1, 0)
	}
	return f.File.SetReadDeadline(at)
}

// Nothing of what the dead have said is lost to the deadline that wakes the reader.
func TestACutThatComesLateLosesNothing(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	in, err := NewReader(&lateCut{r, true})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "last words")
	w.Close()
	in.cut.Store(true)
	if said, err := io.ReadAll(in); string(said) != "last words" || err != nil {
		t.Errorf("read %q, %v", said, err)
	}
}

// A dial to a listener whose queue is full goes unanswered.
func TestCloseEndsADial(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	local := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if err := errors.Join(unix.Bind(fd, local), unix.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	bound, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		queued, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(queued)
		unix.Connect(queued, bound)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", bound.(*unix.SockaddrInet4).Port)
	c := captest.Patient(capability.Grant{Name: "main", To: Address{Network: "tcp", Addr: addr}})
	c.Limits.Dial = time.Hour
	table := captest.NewTable(t, c)
	r := captest.NewRecorder()
	s := captest.Open(t, table, abi.OpenStream, r)
	for stacks := make([]byte, 1<<20); !bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("DialContext")); {
		runtime.Gosched()
	}
	s.Close()
	captest.CloseTable(t, table)
	captest.WantOrder(t, r, "")
}

func BenchmarkFlush(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		b.Run(captest.SizeName(size), func(b *testing.B) {
			h, r := pipedOutlet(b, 0, captest.NewRecorder())
			body, newline, buf := make([]byte, size), []byte("\n"), make([]byte, 64<<10)
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				h.Write(body, false)
				h.Write(newline, false)
				h.Flush()
				r.Read(buf)
			}
		})
	}
}

// BenchmarkRawPipe is the floor of BenchmarkFlush: the two system calls alone.
func BenchmarkRawPipe(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		b.Run(captest.SizeName(size), func(b *testing.B) {
			var fds [2]int
			if err := syscall.Pipe(fds[:]); err != nil {
				b.Fatal(err)
			}
			defer syscall.Close(fds[0])
			defer syscall.Close(fds[1])
			body, buf := make([]byte, size+1), make([]byte, 64<<10)
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				syscall.Write(fds[1], body)
				syscall.Read(fds[0], buf)
			}
		})
	}
}
