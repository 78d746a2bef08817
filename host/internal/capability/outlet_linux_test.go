package capability

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
	"github.com/wharf-mcp/wharf/host/internal/hostio"
	"golang.org/x/sys/unix"
)

// pipedOutlet is an outlet that writes to a pipe, of which the test reads the
// other end. In a pipe of packets one write is one packet.
func pipedOutlet(t testing.TB, flags int, sink hostio.Sink) (*handle, *os.File) {
	t.Helper()
	var fds [2]int
	if err := syscall.Pipe2(fds[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK|flags); err != nil {
		t.Fatal(err)
	}
	r, w := os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
	h := newHandle(newOpening(t, sink), nil)
	p, err := newPort(w, w.Close, w.Close)
	if err != nil {
		t.Fatal(err)
	}
	h.attach(p, "its stdin")
	t.Cleanup(func() {
		h.out.close()
		h.Cancel(nil)
		r.Close()
	})
	return h, r
}

func TestAMessageIsOneWrite(t *testing.T) {
	h, r := pipedOutlet(t, syscall.O_DIRECT, newRecorder())
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
		h, r := pipedOutlet(t, 0, newRecorder())
		var want []byte
		for i := range pieces {
			piece := bytes.Repeat([]byte{byte(i)}, i%9)
			want = append(want, piece...)
			h.Write(piece, false)
		}
		if n := len(h.out.segs); n > segments {
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
	h, r := pipedOutlet(t, 0, newRecorder())
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
	h, r := pipedOutlet(t, 0, newRecorder())
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
	h, r := pipedOutlet(t, 0, newRecorder())
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
	if size() != pipeMax || h.Queued() != 0 {
		t.Errorf("the pipe has %d bytes, %d are queued", size(), h.Queued())
	}
}

func TestWhatIsWrittenAfterTheEndIsDropped(t *testing.T) {
	h, r := pipedOutlet(t, 0, newRecorder())
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
	rec := newRecorder()
	rec.holdAt = "data"
	h, r := pipedOutlet(t, 0, rec)
	h.Events.AllowDrained()
	said := make(chan struct{})
	go func() {
		defer close(said)
		h.Events.Data([]byte("held"), false)
	}()
	rec.until(func() bool { return rec.inCall })
	h.Write(make([]byte, 4<<20), true)
	h.Flush()
	if n, err := io.Copy(io.Discard, r); n != 4<<20 || err != nil {
		t.Errorf("%d bytes came while Data was held, %v", n, err)
	}
	close(rec.hold)
	<-said
	rec.untilWord("drained")
	wantOrder(t, rec, "data drained")
}

// What the dead can have left in a pipe is no more than a pipe holds. Whoever
// still writes to it then is not waited for.
func TestAnInletThatIsCutComesToAnEnd(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	in, err := newInlet(r)
	if err != nil {
		t.Fatal(err)
	}
	in.cut()
	piece, total := make([]byte, ChunkSize), 0
	for {
		w.Write(piece)
		n, err := in.Read(piece)
		if total += n; err == io.EOF {
			break
		}
		if err != nil || total > pipeMax {
			t.Fatalf("%d bytes came, %v", total, err)
		}
	}
	if total != pipeMax {
		t.Errorf("%d bytes came", total)
	}
}

// lateCut is a pipe whose deadline comes when its reader has just taken it back:
// whoever cuts an inlet says so first, and may stand still before he sets it.
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
	in, err := newInlet(&lateCut{r, true})
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "last words")
	w.Close()
	in.cutting.Store(true)
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
	c := patient(Grant{Name: "main", To: Address{Network: "tcp", Addr: addr}})
	c.Limits.Dial = time.Hour
	table := newTestTable(t, c)
	r := newRecorder()
	s := open(t, table, abi.OpenStream, r)
	for stacks := make([]byte, 1<<20); !bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("DialContext")); {
		runtime.Gosched()
	}
	s.Close()
	closeTable(t, table)
	wantOrder(t, r, "")
}

// A kernel without pidfds makes the watch wait in another way.
func TestWatchWithoutAPidfd(t *testing.T) {
	cmd, err := helper("crash").To.(Process).command()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w := watch{fd: -1}
	w.adopt()
	w.await(cmd)
	if err := syscall.Kill(cmd.Process.Pid, 0); err != nil {
		t.Errorf("the process was reaped: %v", err)
	}
	cmd.Wait()
	w.close()
	if cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("%v", cmd.ProcessState)
	}
}

// openFiles counts the descriptors of this process.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestNothingIsLeftAfterClose(t *testing.T) {
	l, stream := listen(t, "unix")
	missing := Grant{Name: "main", To: Process{Command: "/no/such/program"}}
	refused := Grant{Name: "main", To: Address{Network: "unix", Addr: "/no/such/socket"}}
	broken := Grant{Name: "main", To: Process{Command: os.Args[0], Dir: "/no/such/dir"}}
	cycle := func() {
		for _, g := range []Grant{helper("echo"), helper("crash"), missing, broken, stream, refused} {
			table, r := NewTable(patient(g)), newRecorder()
			open(t, table, g.To.Kind(), r)
			if a, ok := g.To.(Address); ok && a == stream.To {
				accept(t, l).Close()
			}
			r.until(func() bool { return len(r.words) > 0 })
			closeTable(t, table)
		}
	}
	cycle() // the poller and the like are made once
	before := openFiles(t)
	for range 20 {
		cycle()
	}
	if after := openFiles(t); after != before {
		t.Errorf("%d descriptors are open, before it were %d", after, before)
	}
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		t.Errorf("a child is left: %d, %v", pid, err)
	}
}

func BenchmarkFlush(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		b.Run(sizeName(size), func(b *testing.B) {
			h, r := pipedOutlet(b, 0, newRecorder())
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
		b.Run(sizeName(size), func(b *testing.B) {
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

// echoSink tells a benchmark when as many bytes came back as it wrote.
type echoSink struct {
	quietSink
	want, got int
	back      chan struct{}
}

type quietSink struct{}

func (quietSink) Opened()                                     {}
func (quietSink) Sealed([]byte)                               {}
func (quietSink) End()                                        {}
func (quietSink) Exit(int, string)                            {}
func (quietSink) Error(abi.Status, error)                     {}
func (quietSink) Drained()                                    {}
func (s *echoSink) Head(int, []abi.Pair, int64, []byte, bool) {}
func (s *echoSink) Data(p []byte, _ bool) {
	if s.got += len(p); s.got == s.want {
		s.got = 0
		s.back <- struct{}{}
	}
}

// BenchmarkRoundTrip sends messages to a real child, which sends them back.
func BenchmarkRoundTrip(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(sizeName(size), func(b *testing.B) {
			table := NewTable(Config{Grants: []Grant{helper("cat")}})
			sink := &echoSink{want: size + 1, back: make(chan struct{}, 1)}
			s, _, err := table.Open(abi.OpenProcess, request("main", 0), sink)
			if err != nil {
				b.Fatal(err)
			}
			body, newline := make([]byte, size), []byte("\n")
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				s.Write(body, false)
				s.Write(newline, false)
				s.Flush()
				<-sink.back
			}
			b.StopTimer()
			closeTable(b, table)
		})
	}
}

// BenchmarkRawRoundTrip is the floor of BenchmarkRoundTrip: the same child, and
// system calls that block.
func BenchmarkRawRoundTrip(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(sizeName(size), func(b *testing.B) {
			cmd, err := helper("cat").To.(Process).command()
			if err != nil {
				b.Fatal(err)
			}
			var in, out [2]int
			if err := errors.Join(syscall.Pipe2(in[:], syscall.O_CLOEXEC), syscall.Pipe2(out[:], syscall.O_CLOEXEC)); err != nil {
				b.Fatal(err)
			}
			childIn, childOut := os.NewFile(uintptr(in[0]), "in"), os.NewFile(uintptr(out[1]), "out")
			cmd.Stdin, cmd.Stdout = childIn, childOut
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			childIn.Close()
			childOut.Close()
			unix.FcntlInt(uintptr(in[1]), unix.F_SETPIPE_SZ, pipeMax)
			unix.FcntlInt(uintptr(out[0]), unix.F_SETPIPE_SZ, pipeMax)
			body, buf := make([]byte, size+1), make([]byte, 64<<10)
			b.SetBytes(int64(size))
			for b.Loop() {
				syscall.Write(in[1], body)
				for got := 0; got < len(body); {
					n, _ := syscall.Read(out[0], buf)
					got += n
				}
			}
			syscall.Close(in[1])
			syscall.Close(out[0])
			cmd.Wait()
		})
	}
}

func sizeName(n int) string {
	switch {
	case n >= 1_000_000:
		return "1MB"
	case n >= 10_000:
		return "10KB"
	}
	return "100B"
}
